/** Dialogues with objects of admissionregistration.k8s.io/v1, and with requests that policies evaluate. */
import type { Dialogue } from "../comparison/Dialogue.ts"
import type { Suite } from "../comparison/Dialogues.ts"
import * as Changes from "./Changes.ts"
import * as Evaluated from "./Evaluated.ts"
import * as Gadgets from "./Gadgets.ts"
import * as Mutated from "./Mutated.ts"
import { type Kind, make } from "./Objects.ts"
import * as Plugins from "./Plugins.ts"
import * as Policed from "./Policed.ts"
import { objects } from "./Strategies.ts"

const kinds = Object.keys(objects) as ReadonlyArray<Kind>

/** The message of a CEL compiler. */
const compilers = /(?<=compilation failed: ERROR: <input>:).*/s

const strategies: ReadonlyArray<Dialogue> = kinds.flatMap((kind) => [
  ...Object.entries(objects[kind]).map(
    ([about, more]): Dialogue => ({
      name: `${kind}: ${about}`,
      headers: ["warning"],
      unlike: compilers,
      steps: [make(kind, "a", more, "?dryRun=All")]
    })
  ),
  {
    name: `${kind}: a reserved name`,
    steps: [make(kind, "a.static.k8s.io", Object.values(objects[kind])[1] ?? {}, "?dryRun=All")]
  },
  { name: `${kind}: a bad name`, steps: [make(kind, "A_b", Object.values(objects[kind])[1] ?? {}, "?dryRun=All")] }
])

export const admission: Suite = {
  name: "admission",
  definitions: [Gadgets.gadgets],
  dialogues: [
    ...strategies,
    ...Changes.dialogues,
    ...Policed.dialogues,
    ...Evaluated.dialogues,
    ...Mutated.dialogues,
    ...Plugins.dialogues,
    ...Gadgets.dialogues
  ]
}
