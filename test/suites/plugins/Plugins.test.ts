/** The embedded server limits the objects of a namespace as a kube-apiserver does. */
import * as Replay from "../comparison/Replay.ts"
import { plugins } from "./Dialogues.ts"

Replay.tests(plugins)
