/** All walks. */
import type { Walk } from "./Walk.ts"
import * as Custom from "./walks/Custom.ts"
import * as Deletion from "./walks/Deletion.ts"
import * as Discovery from "./walks/Discovery.ts"
import * as Mistakes from "./walks/Mistakes.ts"
import * as Objects from "./walks/Objects.ts"
import * as Workloads from "./walks/Workloads.ts"

export const walks: ReadonlyArray<Walk> = [Discovery, Objects, Custom, Mistakes, Workloads, Deletion].flatMap(
  ({ walks }) => walks
)
