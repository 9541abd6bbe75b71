/** A CRD that another program narrows while a manager runs, on API servers. */
import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import * as Controller from "@homeostat/runtime/controller/Controller"
import * as Result from "@homeostat/runtime/controller/Result"
import type { Journaled } from "@homeostat/runtime/manager/why/Gather"
import { CustomResourceDefinition } from "@homeostat/runtime/resource/BuiltIn"
import * as Crd from "@homeostat/runtime/resource/Crd"
import * as CustomResource from "@homeostat/runtime/resource/CustomResource"
import { nameOf } from "@homeostat/runtime/resource/Resource"
import { Effect, Schema } from "effect"
import * as Managed from "../Managed.ts"
import { on } from "./Chore.ts"

const kind = <A, I>(spec: Schema.Codec<A, I>) =>
  CustomResource.make({
    group: "narrowed.homeostat.dev",
    version: "v1",
    kind: "Scale",
    spec,
    status: Schema.Struct({})
  })

const text = Schema.optionalKey(Schema.String)
const Older = kind(Schema.Struct({ size: text }))
const Newer = kind(Schema.Struct({ size: text, budget: text }))

describe("A manager whose CRD another program narrows", () => {
  on([Crd.of(Newer)])("reconciles no object of the kind until the CRD is complete again", ({ cluster, namespace }) =>
    Effect.gen(function* () {
      const seen: Array<string | undefined> = []
      const controller = Controller.make("scales", {
        for: Newer,
        reconcile: ({ spec }) =>
          Effect.sync(() => {
            seen.push(spec.budget)
            return Result.done
          })
      })
      const key = { namespace, name: "one" }
      yield* Client.create(Newer, { metadata: key, spec: { size: "1", budget: "2" } })
      const { runners } = yield* Managed.start(cluster, [controller], {
        namespaces: [namespace],
        comparesCrds: "scales"
      })
      const [runner] = runners as ReadonlyArray<Journaled>
      const narrowed = Effect.sync(() => runner?.narrowed?.())
      const runs = Effect.sync(() => seen.length)
      yield* Managed.eventually("a reconcile", runs, (count) => count > 0)
      expect(yield* narrowed).toBeUndefined()

      const apply = (each: CustomResource.Any) =>
        Client.patch(
          CustomResourceDefinition,
          { name: nameOf(Newer) },
          Patch.merge({ spec: { versions: Crd.of(each).spec.versions } })
        )
      yield* apply(Older)
      yield* Managed.eventually("that it is noticed", narrowed, (problem) => problem !== undefined)
      expect(yield* narrowed).toBe(
        "the CRD scales.narrowed.homeostat.dev of the cluster lacks fields of this program: spec.budget (apply the CRD of this program: scales crd)"
      )
      const before = seen.length
      yield* Client.patch(Older, key, Patch.merge({ spec: { size: "3" } }))
      yield* Effect.sleep("1 second")
      expect(seen.length).toBe(before)

      yield* apply(Newer)
      yield* Managed.eventually("that it goes on", runs, (count) => count > before)
      expect(yield* narrowed).toBeUndefined()
    })
  )
})
