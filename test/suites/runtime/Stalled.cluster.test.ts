/** The report of the runtime on a child that API servers reject. */
import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import * as Controller from "@homeostat/runtime/controller/Controller"
import * as Owned from "@homeostat/runtime/controller/Owned"
import * as Result from "@homeostat/runtime/controller/Result"
import { Deployment, Event } from "@homeostat/runtime/resource/BuiltIn"
import * as Condition from "@homeostat/runtime/resource/Condition"
import * as Crd from "@homeostat/runtime/resource/Crd"
import * as CustomResource from "@homeostat/runtime/resource/CustomResource"
import { Effect, Schema } from "effect"
import * as Managed from "../Managed.ts"
import * as Rest from "../Rest.ts"
import { on } from "./Chore.ts"

const Load = CustomResource.make({
  group: "stalled.homeostat.dev",
  version: "v1",
  kind: "Load",
  spec: Schema.Struct({ cpu: Schema.String, app: Schema.String }),
  status: Schema.Struct({ conditions: Schema.optionalKey(Condition.list) })
})

/** A controller that writes no status and handles no errors. */
const controller = Controller.make("loads", {
  for: Load,
  owns: [Deployment],
  reconcile: (load) => {
    const { app, cpu } = load.spec
    const resources = { requests: { cpu }, limits: { cpu: "1" } }
    const container = { name: "main", image: "registry.test/web:1", resources, env: [{ name: "A", value: "hunter2" }] }
    const metadata = { name: load.metadata.name }
    return Effect.as(
      Owned.apply(load, Deployment, {
        metadata,
        spec: {
          replicas: 0,
          selector: { matchLabels: { app } },
          template: { metadata: { labels: { app } }, spec: { containers: [container] } }
        }
      }),
      Result.done
    )
  }
})

describe.concurrent("A child that the API server rejects", () => {
  on([Crd.of(Load)])("is reported on its owner once, and retried when the owner changes", ({ cluster, namespace }) =>
    Effect.gen(function* () {
      const key = { namespace, name: "one" }
      const loads = Client.get(Load, key)
      const stalled = (what: string) =>
        Effect.map(
          Managed.eventually(what, loads, ({ metadata, status }) => {
            const found = Condition.find(status?.conditions, "Stalled")
            return found?.observedGeneration === metadata.generation
          }),
          ({ status }) => Condition.find(status?.conditions, "Stalled")
        )
      const change = (spec: object) => Client.patch(Load, key, Patch.merge({ spec }))

      yield* Client.create(Load, { metadata: key, spec: { cpu: "2", app: "a" } })
      const working = yield* Managed.start(cluster, [controller], { namespaces: [namespace] })
      expect(yield* stalled("the report of the limit")).toMatchObject({
        status: "True",
        reason: "Invalid",
        message: expect.stringMatching(
          /^The API server refuses PATCH .*\/deployments\/one: Deployment(\.apps)? "one" is invalid: spec\.template\.spec\.containers\[0\]\.resources\.requests: Invalid value: "2": must be less than or equal to cpu limit of 1$/
        )
      })
      yield* Rest.of(working)
      expect(working.attempts().map(({ outcome }) => outcome._tag)).toEqual(["Terminal"])

      yield* change({ cpu: "500m" })
      yield* Managed.eventually("no conditions", loads, ({ status }) => status?.conditions?.length === 0)

      yield* change({ app: "b" })
      const { message = "" } = (yield* stalled("the report of the selector")) ?? {}
      expect(message).toContain("spec.selector: Invalid value: field is immutable")
      expect(message).not.toContain("hunter2")
      const { items } = yield* Managed.eventually("both Events", Client.list(Event, { namespace }), ({ items }) =>
        items.some(({ note }) => note?.includes("immutable") === true)
      )
      const warnings = items.filter(({ type }) => type === "Warning")
      expect(warnings.map(({ reason, regarding }) => `${regarding?.kind} ${reason}`)).toEqual([
        "Load Invalid",
        "Load Invalid"
      ])
    })
  )
})
