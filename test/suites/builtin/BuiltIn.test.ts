/** The embedded server handles valid and invalid built-in objects as a kube-apiserver does. */
import * as Replay from "../comparison/Replay.ts"
import { builtin } from "./Dialogues.ts"

Replay.tests(builtin)
