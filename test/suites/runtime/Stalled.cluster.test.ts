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
import * as Envtest from "@homeostat/testkit/envtest/Envtest"
import * as Shared from "@homeostat/testkit/Shared"
import { Effect, Schema } from "effect"
import * as Managed from "../Managed.ts"
import * as Rest from "../Rest.ts"

const Load = CustomResource.make({
  group: "stalled.homeostat.dev",
  version: "v1",
  kind: "Load",
  spec: Schema.Struct({ cpu: Schema.String, app: Schema.String }),
  status: Schema.Struct({ conditions: Schema.optionalWith(Condition.list, { exact: true }) })
})

/** It writes no status, and handles no error. */
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
  Shared.cluster(
    "is reported on its owner once, and retried when the owner changes",
    (cluster) =>
      Effect.gen(function* () {
        yield* cluster.install(Crd.of(Load))
        const namespace = yield* cluster.namespace("stalled")
        const client = yield* Managed.client(cluster)
        const key = { namespace, name: "one" }
        const loads = Effect.provide(Client.get(Load, key), client)
        const stalled = (what: string) =>
          Effect.map(
            Managed.eventually(what, loads, ({ metadata, status }) => {
              const found = Condition.find(status?.conditions, "Stalled")
              return found?.observedGeneration === metadata.generation
            }),
            ({ status }) => Condition.find(status?.conditions, "Stalled")
          )
        const change = (spec: object) => Effect.provide(Client.patch(Load, key, Patch.merge({ spec })), client)

        yield* Effect.provide(Client.create(Load, { metadata: key, spec: { cpu: "2", app: "a" } }), client)
        const working = yield* Managed.start(cluster, [controller], { namespaces: [namespace] })
        expect(yield* stalled("the report of the limit")).toMatchObject({
          status: "True",
          reason: "Invalid",
          message: expect.stringMatching(
            /^The API server refuses PATCH .*\/deployments\/one: Deployment(\.apps)? "one" is invalid: spec\.template\.spec\.containers\[0\]\.resources\.requests: Invalid value: "2": must be less than or equal to cpu limit of 1$/
          )
        })
        yield* Effect.provide(Rest.of(working), client)
        expect(working.attempts().map(({ outcome }) => outcome._tag)).toEqual(["Terminal"])

        yield* change({ cpu: "500m" })
        yield* Managed.eventually("that it is over", loads, ({ status }) => status?.conditions?.length === 0)

        yield* change({ app: "b" })
        const { message = "" } = (yield* stalled("the report of the selector")) ?? {}
        expect(message).toContain("spec.selector: Invalid value: field is immutable")
        expect(message).not.toContain("hunter2")
        const { items } = yield* Effect.provide(
          Managed.eventually("both Events", Client.list(Event, { namespace }), ({ items }) =>
            items.some(({ note }) => note?.includes("immutable") === true)
          ),
          client
        )
        const warnings = items.filter(({ type }) => type === "Warning")
        expect(warnings.map(({ reason, regarding }) => `${regarding?.kind} ${reason}`)).toEqual([
          "Load Invalid",
          "Load Invalid"
        ])
      }),
    Envtest.everything
  )
})
