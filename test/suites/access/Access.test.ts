/** The embedded server handles users and permissions as the recorded kube-apiserver does. */
import * as Replay from "../comparison/Replay.ts"
import { access } from "./Dialogues.ts"

Replay.tests(access)
