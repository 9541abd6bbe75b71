/** Users and permissions of the embedded server are those of the recorded kube-apiserver. */
import * as Replay from "../comparison/Replay.ts"
import { access } from "./Dialogues.ts"

Replay.tests(access)
