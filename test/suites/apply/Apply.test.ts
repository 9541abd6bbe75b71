/** The embedded server merges the writes of several managers and tracks their fields as a kube-apiserver does. */
import * as Replay from "../comparison/Replay.ts"
import { apply } from "./Dialogues.ts"

Replay.tests(apply)
