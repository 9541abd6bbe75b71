/** The embedded server answers the requests of a client as a kube-apiserver does. */
import * as Replay from "../comparison/Replay.ts"
import { conformance } from "./Dialogues.ts"

Replay.tests(conformance)
