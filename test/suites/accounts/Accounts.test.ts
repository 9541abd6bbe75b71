/** The admission plugin ServiceAccount changes and rejects pods as that of a kube-apiserver does. */
import * as Replay from "../comparison/Replay.ts"
import { accounts } from "./Dialogues.ts"

Replay.tests(accounts)
