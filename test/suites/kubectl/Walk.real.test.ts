/** kubectl writes the same and ends the same way on the embedded cluster as on a kube-apiserver. */
import { describe } from "bun:test"
import { compare, type Walk } from "./Walk.ts"
import * as Custom from "./walks/Custom.ts"
import * as Deletion from "./walks/Deletion.ts"
import * as Discovery from "./walks/Discovery.ts"
import * as Mistakes from "./walks/Mistakes.ts"
import * as Objects from "./walks/Objects.ts"
import * as Workloads from "./walks/Workloads.ts"

const walks: ReadonlyArray<readonly [about: string, walks: ReadonlyArray<Walk>]> = [
  ["what there is", Discovery.walks],
  ["objects", Objects.walks],
  ["custom objects", Custom.walks],
  ["mistakes", Mistakes.walks],
  ["workloads", Workloads.walks],
  ["deletion", Deletion.walks]
]

for (const [about, those] of walks) describe(about, () => those.forEach(compare))
