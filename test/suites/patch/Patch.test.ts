/** The embedded server applies patches as a kube-apiserver does. */
import * as Replay from "../comparison/Replay.ts"
import { patch } from "./Dialogues.ts"

Replay.tests(patch)
