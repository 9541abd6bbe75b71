import { describe, expect } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"
import * as Metrics from "../telemetry/Metrics.ts"
import { reading } from "../telemetry/Reading.fixture.ts"
import * as Cache from "./Cache.ts"
import { settle, WebApp, withServer } from "./Server.fixture.ts"

const of = (name: string) => `homeostat_${name}{kind="webapps.apps.kubedojo.io"}`

/** A test with its own registry. */
const metered = (body: (registry: Metrics.Registry) => ReturnType<typeof withServer>) => () => {
  const registry = Metrics.make()
  return Effect.provideService(body(registry)(), Metrics.Metrics, registry)
}

describe("The metrics of a cache contain", () => {
  effect(
    "the number and the size of the objects of a kind, over all informers",
    metered((registry) =>
      withServer([], (server) =>
        Effect.gen(function* () {
          for (const name of ["a", "b", "c"]) server.put({ name, labels: { app: name } })
          const all = yield* Cache.informer(WebApp)
          const some = yield* Cache.informer(WebApp, { select: { labels: "app=a" } })
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
    "the time since the last event of a kind",
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
