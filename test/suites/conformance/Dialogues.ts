import { withoutRevision } from "../comparison/Dialogue.ts"
import type { Suite } from "../comparison/Dialogues.ts"
import * as Kinds from "./Kinds.ts"
import * as Malformed from "./Malformed.ts"
import * as Reads from "./Reads.ts"
import * as WebApps from "./WebApps.ts"
import * as Writes from "./Writes.ts"

const dialogues = [...Writes.dialogues, ...Kinds.dialogues, ...Reads.dialogues, ...Malformed.dialogues]

export const conformance: Suite = {
  name: "conformance",
  definitions: [WebApps.definition],
  dialogues: dialogues.map((dialogue) => ({ ...dialogue, compared: withoutRevision }))
}
