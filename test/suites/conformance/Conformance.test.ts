/** The embedded server responds to a client's requests as a kube-apiserver does. */
import * as Replay from "../comparison/Replay.ts"
import { conformance } from "./Dialogues.ts"

Replay.tests(conformance)
