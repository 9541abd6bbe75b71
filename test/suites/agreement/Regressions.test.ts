/** The embedded server answers the sequences on which it once disagreed with a kube-apiserver as the kube-apiserver did. */
import * as Replay from "../comparison/Replay.ts"
import { regressions } from "./Dialogues.ts"

Replay.tests(regressions)
