/** The embedded server and a kube-apiserver agree on sequences on which they once differed. */
import * as Replay from "../comparison/Replay.ts"
import { regressions } from "./Dialogues.ts"

Replay.tests(regressions)
