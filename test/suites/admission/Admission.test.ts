/** The embedded server accepts and refuses what a kube-apiserver does, with policies and without. */
import * as Replay from "../comparison/Replay.ts"
import { admission } from "./Dialogues.ts"

Replay.tests(admission)
