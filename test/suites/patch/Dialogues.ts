/** Tables of patches, as dialogues. */
import type { Suite } from "../comparison/Dialogues.ts"
import * as ConfigMaps from "./ConfigMaps.ts"
import * as Services from "./Services.ts"
import * as Table from "./Table.ts"
import * as Workloads from "./Workloads.ts"

export const patch: Suite = {
  name: "patch",
  dialogues: [...Workloads.tables, ...Services.tables, ...ConfigMaps.tables].map(Table.dialogue)
}
