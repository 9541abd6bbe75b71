/** The embedded server makes of built-in objects, valid and invalid, what a kube-apiserver makes of them. */
import * as Replay from "../comparison/Replay.ts"
import { builtin } from "./Dialogues.ts"

Replay.tests(builtin)
