/** The embedded server accepts and rejects CRDs and custom objects as a kube-apiserver does. */
import * as Replay from "../comparison/Replay.ts"
import { crd } from "./Dialogues.ts"

Replay.tests(crd)
