/** Objects of each built-in kind in the states that their columns distinguish. */
import { admission } from "./AdmissionSamples.ts"
import { network } from "./NetworkSamples.ts"
import { pods } from "./PodSamples.ts"
import type { Sample } from "./Sample.ts"
import { settings } from "./SettingSamples.ts"
import { workloads } from "./WorkloadSamples.ts"

export const samples: ReadonlyArray<Sample> = [...pods, ...workloads, ...network, ...settings, ...admission]
