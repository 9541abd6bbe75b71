/** A status without a status subresource. */
import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Controller from "@homeostat/runtime/controller/Controller"
import * as Result from "@homeostat/runtime/controller/Result"
import * as Status from "@homeostat/runtime/controller/Status"
import * as Crd from "@homeostat/runtime/resource/Crd"
import * as CustomResource from "@homeostat/runtime/resource/CustomResource"
import { Effect, Schedule, Schema } from "effect"
import * as Managed from "../Managed.ts"
import { on } from "./Chore.ts"

const Bare = CustomResource.make({
  group: "status.homeostat.dev",
  version: "v1",
  kind: "Bare",
  plural: "bares",
  spec: Schema.Struct({}),
  status: Schema.Struct({ seen: Schema.String })
})

const withoutStatus = (crd: Crd.Crd): Crd.Crd => ({
  ...crd,
  spec: { ...crd.spec, versions: crd.spec.versions.map(({ subresources, ...version }) => version) }
})

describe.concurrent("A status", () => {
  on([withoutStatus(Crd.of(Bare))])(
    "of a kind whose CRD has no status subresource fails with that error",
    ({ cluster, namespace }) =>
      Effect.gen(function* () {
        yield* Client.create(Bare, { metadata: { namespace, name: "one" }, spec: {} })
        const controller = Controller.make("bares", {
          for: Bare,
          retry: Schedule.spaced("100 millis"),
          reconcile: (bare) => Effect.as(Status.update(bare, { seen: "yes" }), Result.done)
        })
        const working = yield* Managed.start(cluster, [controller], { namespaces: [namespace] })
        const attempts = yield* Managed.eventually(
          "two attempts",
          Effect.sync(() => working.attempts()),
          ({ length }) => length >= 2
        )
        for (const { outcome } of attempts) {
          expect(outcome).toMatchObject({
            _tag: "Failed",
            error: { message: expect.stringContaining("version v1 of its CRD has no status subresource") }
          })
        }
      })
  )
})
