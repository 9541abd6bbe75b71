/** The limits of the costs of expressions in CEL. */
import type { Suite } from "../comparison/Dialogues.ts"
import { definitions } from "./Definitions.ts"

export const costs: Suite = { name: "costs", dialogues: [...definitions] }
