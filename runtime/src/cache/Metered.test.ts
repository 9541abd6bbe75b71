import { describe, expect } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/TestClock"
import * as Client from "../client/Client.ts"
import * as Metrics from "../telemetry/Metrics.ts"
import { reading } from "../telemetry/Reading.fixture.ts"
import * as Cache from "./Cache.ts"
import { label, settle, WebApp, withServer } from "./Server.fixture.ts"

const of = (name: string) => `homeostat_${name}{kind="webapps.apps.kubedojo.io"}`

/** A test with a registry of its own. */
const metered = (body: (registry: Metrics.Registry) => ReturnType<typeof withServer>) => () => {
  const registry = Metrics.make()
  return Effect.provideService(body(registry)(), Metrics.Metrics, registry)
}

describe("a cache is measured", () => {
  effect(
    "by how many objects of a kind there are and about how large they are, whoever follows them",
    metered((registry) =>
      withServer([], (server) =>
        Effect.gen(function* () {
          for (const name of ["a", "b", "c"]) server.put({ name, labels: { app: name } })
          const all = yield* Cache.informer(WebApp)
          const some = yield* Cache.informer(WebApp, { labelSelector: "app=a" })
          yield* all.synced
          yield* some.synced
          const objects = [...all.store.list(), ...some.store.list()]
          const seen = reading(registry)
          expect(seen[of("cache_objects")]).toBe(4)
          const bytes = objects.reduce((sum, object) => sum + JSON.stringify(object).length, 0)
          expect(Math.abs((seen[of("cache_bytes")] ?? 0) - bytes)).toBeLessThan(10)
          server.remove("default/a")
          yield* settle
          expect(reading(registry)[of("cache_objects")]).toBe(2)
        })
      )
    )
  )

  effect(
    "by the time that has passed since anything was heard of a kind",
    metered((registry) =>
      withServer([], (server) =>
        Effect.gen(function* () {
          const informer = yield* Cache.informer(WebApp)
          yield* informer.synced
          yield* TestClock.adjust("90 seconds")
          expect(reading(registry)[of("watch_idle_seconds")]).toBe(90)
          server.put({ name: "a" })
          yield* settle
          expect(reading(registry)[of("watch_idle_seconds")]).toBeLessThan(0.01)
        })
      )
    )
  )
})

describe("a write of ours is seen", () => {
  effect(
    "when it was answered and the watch has told of it, whichever comes second",
    withServer([], (server) =>
      Effect.gen(function* () {
        const { whenSeen } = yield* Cache.Cache
        yield* (yield* Cache.informer(WebApp)).synced
        const told: Array<string> = []
        server.hold()
        const created = yield* Client.create(WebApp, { metadata: { namespace: "default", name: "a" } })
        whenSeen(created.metadata.resourceVersion, (at) => told.push(`created ${at}`))
        yield* TestClock.adjust("3 seconds")
        expect(told).toEqual([])
        server.release()
        yield* settle
        expect(told).toEqual(["created 3000"])
        // Looking has taken a millisecond.
        const patched = yield* Client.patch(WebApp, { namespace: "default", name: "a" }, label("x"))
        yield* TestClock.adjust("2 seconds")
        whenSeen(patched.metadata.resourceVersion, (at) => told.push(`patched ${at}`))
        expect(told).toEqual(["created 3000", "patched 3001"])
        // One that is answered with the state that was there before changed nothing. This server makes a new one of any write.
        const before = String(Number(patched.metadata.resourceVersion) + 1)
        const same = yield* Client.patch(WebApp, { namespace: "default", name: "a" }, label("x"), { before })
        expect(same.metadata.resourceVersion).toBe(before)
        yield* settle
        whenSeen(before, (at) => told.push(`again ${at}`))
        expect(told).toHaveLength(2)
      })
    )
  )
})
