/** A CustomResourceDefinition that is older than the program or has only conditions. */
import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Controller from "@homeostat/runtime/controller/Controller"
import * as Result from "@homeostat/runtime/controller/Result"
import * as Status from "@homeostat/runtime/controller/Status"
import * as Condition from "@homeostat/runtime/resource/Condition"
import * as Crd from "@homeostat/runtime/resource/Crd"
import * as CustomResource from "@homeostat/runtime/resource/CustomResource"
import { Effect, Schema } from "effect"
import * as Managed from "../Managed.ts"
import * as Rest from "../Rest.ts"
import { on } from "./Chore.ts"
import * as Counted from "./Counted.ts"

const text = Schema.optionalKey(Schema.String)

const kind = <A, I, S, SI>(name: string, spec: Schema.Codec<A, I>, status: Schema.Codec<S, SI>) =>
  CustomResource.make({ group: "outdated.homeostat.dev", version: "v1", kind: name, spec, status })

const Older = kind("Memo", Schema.Struct({}), Schema.Struct({ phase: text }))
const Newer = kind("Memo", Schema.Struct({}), Schema.Struct({ phase: text, since: text }))

/** A kind with conditions alone, whose newer program requires a number as the size. */
const Loose = kind("Sized", Schema.Struct({ size: Schema.String }), Schema.Struct({ conditions: Condition.list }))
const Strict = kind("Sized", Schema.Struct({ size: Schema.Int }), Schema.Struct({ conditions: Condition.list }))

describe.concurrent("A status", () => {
  on([Crd.of(Older)])(
    "with a field that the CRD lacks is written once without it, with a warning",
    ({ cluster, namespace }) =>
      Effect.gen(function* () {
        const key = { namespace, name: "one" }
        yield* Client.create(Older, { metadata: key, spec: {} })
        const controller = Controller.make("memos", {
          for: Newer,
          reconcile: (memo) => Effect.as(Status.update(memo, { phase: "Done", since: "today" }), Result.done)
        })
        const working = yield* Counted.start(cluster.admin, [controller], { namespaces: [namespace] })
        yield* Managed.eventually("the status", Client.get(Older, key), ({ status }) => status?.phase === "Done")
        yield* Rest.of(working)
        expect(working.writes).toEqual(["patch Memo one/status"])
        expect(working.warnings).toEqual([
          "The API server drops status.since of a Memo: its CRD is older than this program, apply the newer one"
        ])
        expect(working.attempts.filter(({ outcome }) => outcome._tag !== "Done")).toEqual([])
      })
  )

  on([Crd.of(Loose)])(
    "with conditions alone reports why an object does not match its schema, without a retry",
    ({ cluster, namespace }) =>
      Effect.gen(function* () {
        const key = { namespace, name: "one" }
        yield* Client.create(Loose, { metadata: key, spec: { size: "big" } })
        const controller = Controller.make("sized", { for: Strict, reconcile: () => Effect.succeed(Result.done) })
        const working = yield* Counted.start(cluster.admin, [controller], { namespaces: [namespace] })
        const { status } = yield* Managed.eventually(
          "the status",
          Client.get(Loose, key),
          ({ status }) => status !== undefined
        )
        expect(Condition.find(status?.conditions, "Stalled")).toMatchObject({
          status: "True",
          reason: "InvalidSpec",
          observedGeneration: 1,
          message: expect.stringContaining("spec.size")
        })
        yield* Managed.eventually(
          "an attempt",
          Effect.sync(() => working.attempts.length),
          (attempts) => attempts > 0
        )
        expect(working.attempts.map(({ outcome }) => outcome._tag)).toEqual(["Terminal"])
        expect(working.warnings.filter((line) => line.includes("drops"))).toEqual([])
      })
  )
})
