/** A program that is newer than the CustomResourceDefinition in the cluster, or that a kind tells less than the runtime would. */
import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Controller from "@homeostat/runtime/controller/Controller"
import * as Result from "@homeostat/runtime/controller/Result"
import * as Status from "@homeostat/runtime/controller/Status"
import * as Condition from "@homeostat/runtime/resource/Condition"
import * as Crd from "@homeostat/runtime/resource/Crd"
import * as CustomResource from "@homeostat/runtime/resource/CustomResource"
import * as Envtest from "@homeostat/testkit/envtest/Envtest"
import * as Shared from "@homeostat/testkit/Shared"
import { Effect, Schema } from "effect"
import * as Managed from "../Managed.ts"
import * as Rest from "../Rest.ts"
import * as Counted from "./Counted.ts"

const text = Schema.optionalWith(Schema.String, { exact: true })

const kind = <A, I, S, SI>(name: string, spec: Schema.Schema<A, I>, status: Schema.Schema<S, SI>) =>
  CustomResource.make({ group: "outdated.homeostat.dev", version: "v1", kind: name, spec, status })

const Older = kind("Memo", Schema.Struct({}), Schema.Struct({ told: text }))
const Newer = kind("Memo", Schema.Struct({}), Schema.Struct({ told: text, since: text }))

/** Has conditions and nothing else; the newer program takes no words for a size. */
const Loose = kind("Sized", Schema.Struct({ size: Schema.String }), Schema.Struct({ conditions: Condition.list }))
const Strict = kind("Sized", Schema.Struct({ size: Schema.Int }), Schema.Struct({ conditions: Condition.list }))

const options = Envtest.everything

describe.concurrent("A status", () => {
  Shared.cluster(
    "of which the CRD in the cluster lacks a field is written without it, once, and the field is named",
    (cluster) =>
      Effect.gen(function* () {
        yield* cluster.install(Crd.of(Older))
        const namespace = yield* cluster.namespace("outdated")
        const client = yield* Managed.client(cluster)
        const key = { namespace, name: "one" }
        yield* Effect.provide(Client.create(Older, { metadata: key, spec: {} }), client)
        const controller = Controller.make("memos", {
          for: Newer,
          reconcile: (memo) => Effect.as(Status.update(memo, { told: "yes", since: "today" }), Result.done)
        })
        const working = yield* Counted.start(cluster.admin, [controller], { namespaces: [namespace] })
        yield* Effect.provide(
          Managed.eventually("that it is told", Client.get(Older, key), ({ status }) => status?.told === "yes"),
          client
        )
        yield* Effect.provide(Rest.of(working), client)
        expect(working.writes).toEqual(["patch Memo one/status"])
        expect(working.warnings).toEqual([
          "The API server drops status.since of a Memo: its CRD is older than this program, apply the newer one"
        ])
        expect(working.attempts.filter(({ outcome }) => outcome._tag !== "Done")).toEqual([])
      }),
    options
  )

  Shared.cluster(
    "with conditions alone says of an object that does not match its schema why, and it is not tried again",
    (cluster) =>
      Effect.gen(function* () {
        yield* cluster.install(Crd.of(Loose))
        const namespace = yield* cluster.namespace("outdated")
        const client = yield* Managed.client(cluster)
        const key = { namespace, name: "one" }
        yield* Effect.provide(Client.create(Loose, { metadata: key, spec: { size: "big" } }), client)
        const controller = Controller.make("sized", { for: Strict, reconcile: () => Effect.succeed(Result.done) })
        const working = yield* Counted.start(cluster.admin, [controller], { namespaces: [namespace] })
        const { status } = yield* Effect.provide(
          Managed.eventually("that it says so", Client.get(Loose, key), ({ status }) => status !== undefined),
          client
        )
        expect(Condition.find(status?.conditions, "Stalled")).toMatchObject({
          status: "True",
          reason: "InvalidSpec",
          observedGeneration: 1,
          message: expect.stringContaining("spec.size")
        })
        yield* Managed.eventually(
          "the attempt's end",
          Effect.sync(() => working.attempts.length),
          (attempts) => attempts > 0
        )
        expect(working.attempts.map(({ outcome }) => outcome._tag)).toEqual(["Terminal"])
        expect(working.warnings.filter((line) => line.includes("drops"))).toEqual([])
      }),
    options
  )
})
