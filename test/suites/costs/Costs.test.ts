/** The embedded server limits the costs of expressions as a kube-apiserver does. */
import * as Replay from "../comparison/Replay.ts"
import { costs } from "./Dialogues.ts"

Replay.tests(costs)
