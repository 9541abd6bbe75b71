import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import * as Controller from "@homeostat/runtime/controller/Controller"
import * as Result from "@homeostat/runtime/controller/Result"
import * as EventRecorder from "@homeostat/runtime/events/EventRecorder"
import { ConfigMap, Event, Lease } from "@homeostat/runtime/resource/BuiltIn"
import * as VirtualTime from "@homeostat/testkit/VirtualTime"
import { Clock, Deferred, Effect, Fiber } from "effect"
import * as Managed from "../Managed.ts"
import * as HandingOver from "./HandingOver.ts"
import * as History from "./History.ts"
import * as Replica from "./Replica.ts"

/**
 * A controller that writes `begun` to its ConfigMap, waits for the test, and then writes `finished` and records an Event.
 */
const patient = (name: string, go: Deferred.Deferred<void>) =>
  Controller.make("patient", {
    for: ConfigMap,
    reconcile: (map) =>
      Effect.gen(function* () {
        yield* Client.patch(ConfigMap, map.metadata, Patch.merge({ data: { begun: name } }))
        yield* Deferred.await(go)
        yield* Client.patch(ConfigMap, map.metadata, Patch.merge({ data: { finished: name } }))
        yield* EventRecorder.record({ regarding: map, type: "Normal", reason: "Finished", note: `by ${name}` })
        return Result.done
      })
  })

describe("When the leader of two managers is stopped,", () => {
  Replica.replicated(
    "it finishes its work, records the end, and releases the Lease, and the other one continues",
    (network, namespace) =>
      Effect.gen(function* () {
        yield* Client.create(ConfigMap, { metadata: { namespace, name: "map", labels: Replica.labels } })
        const data = Effect.map(Client.get(ConfigMap, { namespace, name: "map" }), (map) => map.data ?? {})
        const lease = Effect.map(Client.get(Lease, { namespace, name: "homeostat" }), ({ spec }) => spec ?? {})
        const notes = Effect.map(Client.list(Event, { namespace }), ({ items }) =>
          items.map(({ note, regarding }) => `${regarding?.kind}: ${note}`)
        )
        const go = yield* Deferred.make<void>()

        const { clock, leap } = VirtualTime.leaping()
        const start = (name: string) =>
          Effect.provideService(
            Replica.start(network, namespace, name, { controller: patient(name, go) }),
            Clock.Clock,
            clock
          )
        const a = yield* start("a")
        yield* Managed.eventually("a is at work", data, ({ begun }) => begun === "a")
        const b = yield* start("b")
        const seenByB = Effect.sync(() => b.state())
        yield* Managed.eventually("b stands by", seenByB, ({ holder }) => holder === "a")

        const stopping = yield* Effect.forkChild(a.stop)
        // The leader renews the Lease while it drains, for longer than the Lease lasts.
        for (let passed = 0; passed < 8000; passed += 400) {
          const { renewTime } = yield* lease
          yield* leap("400 millis")
          const renewed = yield* Managed.eventually("a renewal", lease, (now) => now.renewTime !== renewTime)
          expect(renewed.holderIdentity).toBe("a")
        }
        expect(yield* data).toEqual({ begun: "a" })
        yield* Deferred.succeed(go, undefined)
        yield* Managed.eventually("b is at work", data, ({ begun, finished }) => begun === "b" && finished === "b")
        yield* Fiber.join(stopping)
        expect(new Set(a.attempts.map(({ outcome }) => outcome._tag))).toEqual(new Set(["Done"]))
        expect(yield* notes).toContain("ConfigMap: by a")
        yield* Managed.eventually("an Event of the Lease", notes, (all) =>
          ["a became leader", "a stopped leading", "b became leader"].every((note) => all.includes(`Lease: ${note}`))
        )
        expect(yield* lease).toMatchObject({ holderIdentity: "b", leaseTransitions: 1 })

        yield* b.stop
        const given = yield* Managed.eventually("b gives it back", lease, ({ holderIdentity }) => holderIdentity === "")
        expect(given.leaseDurationSeconds).toBe(1)
      })
  )
})

describe("Over all kinds of hand-overs,", () => {
  Replica.replicated("at most one manager holds the Lease, and only the holder writes", (network, namespace) =>
    Effect.gen(function* () {
      const { believers, history } = yield* HandingOver.run(network, namespace, HandingOver.ways.length)
      expect(History.handOvers(history)).toBeGreaterThanOrEqual(HandingOver.ways.length)
      expect(History.overlaps(history)).toEqual([])
      expect(History.trespasses(history)).toEqual([])
      expect(believers).toEqual([])
      expect(history.writes.length).toBeGreaterThan(HandingOver.ways.length)
    })
  )
})
