/** The limits of the costs of expressions in CEL. */
import type { Suite } from "../comparison/Dialogues.ts"
import { definitions } from "./Definitions.ts"
import { evaluations, pricey } from "./Evaluations.ts"

export const costs: Suite = {
  name: "costs",
  definitions: [pricey],
  // Expensive rules keep a kube-apiserver busy, so the dialogues run one after the other.
  concurrency: 1,
  dialogues: [...definitions, ...evaluations]
}
