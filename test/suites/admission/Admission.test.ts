/** The embedded server accepts and rejects the same requests as a kube-apiserver, with and without policies. */
import * as Replay from "../comparison/Replay.ts"
import { admission } from "./Dialogues.ts"

Replay.tests(admission)
