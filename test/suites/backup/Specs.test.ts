/** The embedded server answers requests with specs of Backups and Restores as a kube-apiserver does. */
import * as Replay from "../comparison/Replay.ts"
import { backup } from "./Dialogues.ts"

Replay.tests(backup)
