/**
 * Server-side apply and the managers of fields, beside a real kube-apiserver: the same scripts of writes, the same results.
 */
import { describe, expect } from "bun:test"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import { real } from "@homeostat/testkit/Shared"
import { Effect } from "effect"
import * as BuiltInScripts from "./BuiltInScripts.ts"
import * as Judge from "./Judge.ts"
import * as ManagerScripts from "./ManagerScripts.ts"
import * as MergeScripts from "./MergeScripts.ts"
import * as RandomScript from "./RandomScript.ts"
import type { Script } from "./Script.ts"
import * as Things from "./Things.ts"

/** What the server makes other than we do, of all scripts. */
const judge = (cluster: ControlPlane, scripts: ReadonlyArray<Script>) =>
  Effect.gen(function* () {
    yield* cluster.install(Things.crd)
    const differences = yield* Effect.forEach(
      scripts,
      ({ name, steps, subject }) =>
        cluster.namespace("apply").pipe(
          Effect.flatMap((namespace) => Judge.play(cluster, subject, namespace, "one", steps)),
          Effect.map((found) => found.map((difference) => ({ script: name, ...difference })))
        ),
      { concurrency: 12 }
    )
    return differences.flat()
  })

describe("Server-side apply makes what a kube-apiserver makes", () => {
  real(
    "of every way in which values come together and managers are noted",
    (cluster) =>
      Effect.gen(function* () {
        const scripts = [...MergeScripts.scripts, ...ManagerScripts.scripts, ...BuiltInScripts.scripts]
        expect(yield* judge(cluster, scripts)).toEqual([])
      }),
    { timeoutMillis: 240_000 }
  )

  // APPLY_SEED: other scripts than those of every day. Twelve of 24 steps take half a minute.
  real(
    "of random writes of three managers",
    (cluster) =>
      Effect.gen(function* () {
        const seed = Number(process.env.APPLY_SEED ?? 1)
        const scripts = Array.from({ length: 12 }, (_, index) => RandomScript.script(seed * 100 + index, 24))
        expect(yield* judge(cluster, scripts)).toEqual([])
      }),
    { timeoutMillis: 240_000 }
  )
})
