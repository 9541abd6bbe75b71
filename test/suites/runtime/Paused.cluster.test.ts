/** The annotation that pauses an object, on API servers. */
import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import * as Controller from "@homeostat/runtime/controller/Controller"
import * as Owned from "@homeostat/runtime/controller/Owned"
import * as Result from "@homeostat/runtime/controller/Result"
import * as Status from "@homeostat/runtime/controller/Status"
import { ConfigMap, Event } from "@homeostat/runtime/resource/BuiltIn"
import * as Condition from "@homeostat/runtime/resource/Condition"
import * as Crd from "@homeostat/runtime/resource/Crd"
import * as CustomResource from "@homeostat/runtime/resource/CustomResource"
import { Effect, Schema } from "effect"
import * as Managed from "../Managed.ts"
import * as Rest from "../Rest.ts"
import { on } from "./Chore.ts"

const Lamp = CustomResource.make({
  group: "paused.homeostat.dev",
  version: "v1",
  kind: "Lamp",
  spec: Schema.Struct({ watts: Schema.Int }),
  status: Schema.Struct({
    observedGeneration: Schema.optionalKey(Schema.Int),
    conditions: Schema.optionalKey(Condition.list)
  })
})

const finalizer = "paused.homeostat.dev/off"

const controller = (cleaned: () => void) =>
  Controller.make("lamps", {
    for: Lamp,
    owns: [ConfigMap],
    finalizer: { name: finalizer, cleanup: () => Effect.sync(cleaned) },
    reconcile: (lamp) =>
      Effect.gen(function* () {
        const { metadata, spec } = lamp
        yield* Owned.apply(lamp, ConfigMap, { metadata: { name: metadata.name }, data: { watts: `${spec.watts}` } })
        yield* Status.ready(lamp, { reason: "On", message: "" })
        return Result.done
      })
  })

describe.concurrent("A paused object", () => {
  on([Crd.of(Lamp)])("keeps its children as users leave them, until the pause or its life ends", (place) =>
    Effect.gen(function* () {
      const { cluster, namespace } = place
      const key = { namespace, name: "one" }
      let cleaned = 0
      yield* Client.create(Lamp, { metadata: key, spec: { watts: 1 } })
      const working = yield* Managed.start(cluster, [controller(() => cleaned++)], { namespaces: [namespace] })
      const lamp = Client.get(Lamp, key)
      const watts = Effect.map(Client.get(ConfigMap, key), ({ data }) => data?.watts)
      const condition = Effect.map(lamp, ({ status }) => Condition.find(status?.conditions, "Paused"))
      const annotate = (value: string | null) =>
        Client.patch(Lamp, key, Patch.merge({ metadata: { annotations: { "homeostat.dev/paused": value } } }))
      const is = (wanted: string) => (value: string | undefined) => value === wanted
      yield* Managed.eventually("the child", watts, is("1"))

      yield* annotate("the cellar is flooded")
      expect(yield* Managed.eventually("the condition", condition, (found) => found !== undefined)).toMatchObject({
        status: "True",
        reason: "PausedByAnnotation",
        message: "The annotation homeostat.dev/paused pauses this object: the cellar is flooded"
      })
      yield* Client.patch(ConfigMap, key, Patch.merge({ data: { watts: "9" } }))
      yield* Client.patch(Lamp, key, Patch.merge({ spec: { watts: 2 } }))
      yield* Rest.of(working)
      expect(yield* watts).toBe("9")
      // A tool that follows kstatus sees an older generation: the new spec is not applied.
      const { metadata, status } = yield* lamp
      expect([metadata.generation, status?.observedGeneration]).toEqual([2, 1])

      yield* annotate(null)
      yield* Managed.eventually("the repair", watts, is("2"))
      yield* Managed.eventually("no condition", condition, (found) => found === undefined)
      const reasons = Client.list(Event, { namespace }).pipe(
        Effect.map(({ items }) => items.map(({ reason }) => reason))
      )
      yield* Managed.eventually("two Events", reasons, (all) => all.includes("Paused") && all.includes("Resumed"))

      yield* annotate("true")
      yield* Managed.eventually("the condition", condition, (found) => found !== undefined)
      yield* Client.delete(Lamp, key)
      const isGone = lamp.pipe(
        Effect.as(false),
        Effect.catchTag("NotFound", () => Effect.succeed(true))
      )
      yield* Managed.eventually("its removal", isGone, (gone) => gone)
      expect(cleaned).toBe(1)
    })
  )
})
