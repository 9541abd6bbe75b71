/** The suites whose answers of a kube-apiserver are recorded. */
import { regressions } from "../agreement/Dialogues.ts"
import { builtin } from "../builtin/Dialogues.ts"
import type { Suite } from "./Dialogues.ts"

/** All of them. */
export const suites: ReadonlyArray<Suite> = [regressions, builtin]
