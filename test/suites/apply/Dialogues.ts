/** Scripts of writes by several managers, as dialogues. */
import type { Suite } from "../comparison/Dialogues.ts"
import * as BuiltInScripts from "./BuiltInScripts.ts"
import * as ManagerScripts from "./ManagerScripts.ts"
import * as MergeScripts from "./MergeScripts.ts"
import * as RandomScript from "./RandomScript.ts"
import * as Script from "./Script.ts"
import * as Things from "./Things.ts"

const random = Array.from({ length: 12 }, (_, index) => RandomScript.script(100 + index, 24))

export const apply: Suite = {
  name: "apply",
  definitions: [Things.definition],
  dialogues: [...MergeScripts.scripts, ...ManagerScripts.scripts, ...BuiltInScripts.scripts, ...random].map(
    Script.dialogue
  )
}
