/** A manager whose network drops, delays or swallows data. */

import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import * as Transport from "@homeostat/runtime/client/Transport"
import { Deployment } from "@homeostat/runtime/resource/BuiltIn"
import * as VirtualTime from "@homeostat/testkit/VirtualTime"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Clock, Effect, Fiber, Layer, References } from "effect"
import * as Managed from "../Managed.ts"
import * as Counted from "../runtime/Counted.ts"
import { behind, converged, create, informers, metric, sent, want, wired } from "./Wired.ts"

describe.concurrent("A manager whose connection", () => {
  wired("is cut resumes its watches without a list", (place) =>
    Effect.gen(function* () {
      const { manager, namespace, proxy } = place
      const key = { namespace, name: "app-0" }
      // Another manager owns this annotation, and the controller must keep it.
      yield* Client.patch(Deployment, key, Patch.merge({ metadata: { annotations: { note: "mine" } } }))
      const [before, watched] = [sent(place), manager.watches.length]
      for (const round of [1, 2, 3]) {
        const { connections } = proxy.counted()
        yield* proxy.cut
        yield* want(key, `registry.test/web:${round}-cut`)
        yield* converged(place)
        expect(proxy.counted().connections).toBeGreaterThan(connections)
      }
      // Not every watch breaks three times: a cut does not affect a watch that waits to reconnect.
      const states = yield* Managed.eventually(
        "that all watches are back",
        Effect.sync(() => informers(place)),
        (all) => all.every(({ restarts, status }) => restarts > 0 && status === "synced")
      )
      expect(metric(place, "homeostat_watch_restarts_total", { reason: "broken" })).toBeGreaterThanOrEqual(
        states.length
      )
      expect(metric(place, "homeostat_watch_relists_total")).toBe(0)
      const resumed = manager.watches.slice(watched)
      expect(resumed.filter((path) => !/resourceVersion=\d+/.test(path) || path.includes("sendInitialEvents"))).toEqual(
        []
      )
      expect((yield* Client.get(Deployment, key)).metadata.annotations).toMatchObject({ note: "mine" })
      expect(sent(place) - before).toBeLessThan(100)
    })
  )

  wired("is slow works slowly, without errors", (place) =>
    Effect.gen(function* () {
      const { manager, proxy } = place
      yield* proxy.delay(200)
      const [before, attempted] = [sent(place), manager.attempts.length]
      yield* create(place, "slow", 10)
      yield* converged(place, "30 seconds")
      expect(manager.attempts.slice(attempted).filter(({ outcome }) => outcome._tag !== "Done")).toEqual([])
      expect(manager.warnings).toEqual([])
      expect(metric(place, "homeostat_watch_restarts_total") + metric(place, "homeostat_watch_relists_total")).toBe(0)
      expect(sent(place) - before).toBeLessThan(100)
    })
  )

  wired("is half open notices the missing bookmarks, and resumes its watches", (place) =>
    Effect.gen(function* () {
      const { leap, namespace, proxy } = place
      const before = sent(place)
      yield* proxy.halfOpen
      yield* want({ namespace, name: "app-0" }, "registry.test/web:unheard")
      yield* leap("135 seconds")
      expect(metric(place, "homeostat_watch_restarts_total")).toBe(0)
      // Each watch counts from its last line, which may be seconds older than this test.
      yield* leap("15 seconds")
      yield* Managed.eventually(
        "that every watch was given up",
        Effect.sync(() => metric(place, "homeostat_watch_restarts_total", { reason: "idle" })),
        (count) => count === informers(place).length
      )
      // If the client tries the dead connection once more, the deadline of that request ends it.
      yield* Effect.andThen(Effect.sleep("1 seconds"), leap("30 seconds"))
      yield* converged(place)
      expect(metric(place, "homeostat_watch_relists_total")).toBe(0)
      expect(sent(place) - before).toBeLessThan(60)
    })
  )

  wired("is half open gives a request up at its deadline, and sends the next one on a new connection", (place) =>
    Effect.gen(function* () {
      const { cluster, namespace, proxy } = place
      const { clock, leap } = VirtualTime.leaping()
      const transport = Transport.layer(Counted.clusterOf(behind(proxy, cluster.admin)))
      const client = yield* Layer.build(Layer.provide(Client.layer(), transport)).pipe(
        Effect.provideService(Clock.Clock, clock),
        Effect.provideService(References.MinimumLogLevel, "None")
      )
      const get = Client.get(WebApp, { namespace, name: "app-0" }).pipe(
        Effect.provide(client),
        Effect.provideService(Clock.Clock, clock)
      )
      yield* get
      yield* proxy.halfOpen
      const asking = yield* Effect.forkChild(Effect.flip(get))
      // Bun closes the connection of an aborted request only after one second of silence, in real time.
      yield* Effect.sleep("1500 millis")
      yield* leap("27 seconds")
      expect(asking.pollUnsafe()).toBeUndefined()
      yield* leap("2 seconds")
      expect(yield* Fiber.join(asking)).toMatchObject({ _tag: "Transport", code: "DEADLINE", outcome: "unknown" })
      yield* Effect.timeout(get, "20 seconds")
    })
  )

  wired("swallows all bytes pauses until it is repaired, and then corrects everything at once", (place) =>
    Effect.gen(function* () {
      const { leap, manager, namespace, proxy } = place
      const key = { namespace, name: "app-0" }
      // With this delay each write takes two seconds, so that one is still in progress.
      yield* proxy.delay(1000)
      yield* want(key, "registry.test/web:swallowed")
      yield* Managed.eventually(
        "a write under way",
        Effect.sync(() => manager.exchanges),
        (all) =>
          all.some(({ request, status }) => /^PATCH .*\/deployments\/app-0$/.test(request) && status === undefined)
      )
      yield* proxy.blackhole
      yield* Effect.forEach([1, 2, 3, 4], (index) => want({ namespace, name: `app-${index}` }, "registry.test/web:2"))
      yield* Managed.eventually("a warning about it", Effect.as(leap("5 seconds"), manager.warnings), (lines) =>
        lines.some((line) => line.includes("No API server answers"))
      )
      const paused = manager.requests.length
      const [probe, since] = ["GET /readyz", () => manager.requests.slice(paused)]
      yield* Managed.eventually(
        "that it probes again and again",
        Effect.map(leap("1 second"), since),
        (all) => all.filter((request) => request === probe).length >= 5
      )
      // The recorder sends Events outside of reconciles. The manager still looks for the optional kind that is not served.
      const others = since().filter((request) => request !== probe && !/\/(events|httproutes)$/.test(request))
      expect(others).toEqual([])
      yield* proxy.heal
      yield* converged(place, "30 seconds")
      expect(metric(place, "homeostat_watch_relists_total")).toBe(0)
      expect(metric(place, "rest_client_requests_total", { code: "<error>" })).toBeGreaterThan(0)
    })
  )
})
