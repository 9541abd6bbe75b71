/**
 * Objects, right and wrong, that the built-in kinds' strategies and a kube-apiserver are given to compare what they make of
 * them. Each is created; those with steps are then changed by merge patches.
 */
import { config } from "./catalogue/Config.ts"
import { containers } from "./catalogue/Containers.ts"
import type { Entry } from "./catalogue/Entry.ts"
import { jobs } from "./catalogue/Jobs.ts"
import { others } from "./catalogue/Others.ts"
import { pods } from "./catalogue/Pods.ts"
import { services } from "./catalogue/Services.ts"
import { workloads } from "./catalogue/Workloads.ts"

/** All of them. */
export const catalogue: ReadonlyArray<Entry> = [
  ...pods,
  ...containers,
  ...workloads,
  ...jobs,
  ...services,
  ...config,
  ...others
]
