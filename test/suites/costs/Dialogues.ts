/** The limits of the costs of expressions in CEL. */
import type { Suite } from "../comparison/Dialogues.ts"
import { definitions } from "./Definitions.ts"
import { evaluations, pricey } from "./Evaluations.ts"

export const costs: Suite = {
  name: "costs",
  definitions: [pricey],
  // A kube-apiserver is busy with expensive rules.
  concurrency: 1,
  dialogues: [...definitions, ...evaluations]
}
