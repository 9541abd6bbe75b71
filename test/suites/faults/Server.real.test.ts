/** A manager whose API server stops, hangs or restarts. */
import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import { Deployment } from "@homeostat/runtime/resource/BuiltIn"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect } from "effect"
import * as Managed from "../Managed.ts"
import { converged, create, informers, metric, pass, real, sent, strays, type Wired, want } from "./Wired.ts"

/** The API server's process. The end of the Scope starts it again, even if the test failed. */
const apiServer = ({ cluster }: Wired) =>
  Effect.acquireRelease(cluster.process("kube-apiserver"), ({ start }) => Effect.ignore(Effect.interruptible(start)))

/** Waits until the manager logs that no API server answers. The manager pauses its reconciles from then on. */
const lost = ({ manager }: Wired) =>
  Managed.eventually(
    "a warning about it",
    Effect.sync(() => manager.warnings),
    (lines) => lines.some((line) => line.includes("No API server answers")),
    "30 seconds"
  )

describe("A manager whose API server", () => {
  real(
    "is killed during many reconciles retries now and then, continues within five seconds of the restart, and converges",
    (place) =>
      Effect.gen(function* () {
        const { manager, namespace } = place
        const server = yield* apiServer(place)
        const key = { namespace, name: "app-0" }
        yield* Client.patch(Deployment, key, Patch.merge({ metadata: { annotations: { note: "mine" } } }))
        // The API server has stored all 40 WebApps. Most are not reconciled yet.
        yield* create(place, "late", 40)
        yield* want(key, "registry.test/web:2")
        yield* server.kill
        yield* lost(place)
        // The client retries requests in progress for some seconds.
        yield* pass(place, "12 seconds")
        const [quiet, attempts] = [sent(place), manager.attempts.length]
        yield* pass(place, "48 seconds")
        // Thirteen kinds retry their watch every two or three seconds. The manager also sends a probe every two seconds.
        expect(sent(place) - quiet).toBeLessThan(340)
        expect(manager.attempts.length).toBe(attempts)

        yield* server.start
        const returned = performance.now()
        yield* Managed.eventually(
          "that it works again",
          Effect.sync(() => manager.attempts.slice(attempts).map(({ outcome }) => outcome._tag)),
          (outcomes) => outcomes.includes("Done"),
          "5 seconds"
        )
        process.stdout.write(`  at work ${(performance.now() - returned).toFixed()} ms after the server's return\n`)
        yield* converged(place, "30 seconds")
        expect((yield* Client.list(WebApp, { namespace })).items.length).toBe(45)
        expect((yield* Client.get(Deployment, key)).metadata.annotations).toMatchObject({ note: "mine" })
        // A restarted server may reject a watch once more, long after all WebApps have converged.
        const states = yield* Managed.eventually(
          "that every kind is followed again",
          Effect.sync(() => informers(place)),
          (all) => all.every(({ problem, status }) => status === "synced" && problem === undefined)
        )
        expect(metric(place, "homeostat_watch_restarts_total", { reason: "broken" })).toBeGreaterThanOrEqual(
          states.length
        )
        expect(metric(place, "rest_client_requests_total", { code: "<error>" })).toBeGreaterThan(0)
        // An informer lists again at most once, and only if the server's watch cache no longer has its revision.
        expect(states.filter(({ reasons, relists }) => relists > 1 || relists !== (reasons.expired ?? 0))).toEqual([])
      }),
    { timeoutMillis: 180_000 }
  )

  real("shuts down gracefully sends few requests, and converges after the restart", (place) =>
    Effect.gen(function* () {
      const { namespace } = place
      const server = yield* apiServer(place)
      const before = sent(place)
      // The server rejects requests while it shuts down, and this work falls into that time.
      yield* create(place, "late", 20)
      yield* server.stop
      expect(sent(place) - before).toBeLessThan(340)
      yield* server.start
      yield* want({ namespace, name: "app-0" }, "registry.test/web:2")
      yield* converged(place, "30 seconds")
      expect((yield* Client.list(WebApp, { namespace })).items.length).toBe(25)
    })
  )

  real("is paused times out its requests, and continues when the API server resumes", (place) =>
    Effect.gen(function* () {
      const { leap, manager } = place
      const server = yield* apiServer(place)
      const requests = manager.requests.length
      yield* create(place, "late", 20)
      yield* Managed.eventually(
        "requests",
        Effect.sync(() => manager.requests.length),
        (count) => count > requests
      )
      yield* Effect.acquireUseRelease(
        server.pause,
        () =>
          Effect.gen(function* () {
            yield* Effect.sleep("1500 millis")
            yield* leap("30 seconds")
            yield* lost(place)
            const [paused, probe] = [manager.requests.length, "GET /readyz"]
            const since = () => manager.requests.slice(paused)
            yield* Managed.eventually(
              "that it probes again and again",
              Effect.map(leap("1 second"), since),
              (all) => all.filter((request) => request === probe).length >= 3
            )
            // The recorder sends Events outside of reconciles. The manager still looks for the optional kind that is not served.
            const others = since().filter((request) => request !== probe && !/\/(events|httproutes)$/.test(request))
            expect(others).toEqual([])
          }),
        () => server.resume
      )
      yield* converged(place, "30 seconds")
    })
  )

  real("restarts with a new watch cache lists each kind once", (place) =>
    Effect.gen(function* () {
      const { manager, namespace, proxy } = place
      const server = yield* apiServer(place)
      const [before, watched] = [sent(place), manager.watches.length]
      yield* proxy.refuse
      yield* proxy.cut
      // These writes happen while no watch is open. The watch cache of the restarted server begins between them.
      yield* want({ namespace, name: "app-0" }, "registry.test/web:2")
      yield* Client.delete(WebApp, { namespace, name: "app-4" })
      yield* server.kill
      yield* server.start
      yield* want({ namespace, name: "app-1" }, "registry.test/web:3")
      yield* proxy.heal
      yield* converged(place, "30 seconds")
      const states = yield* Managed.eventually(
        "that each kind was listed again",
        Effect.sync(() => informers(place)),
        (all) => all.every(({ relists, status }) => relists > 0 && status === "synced")
      )
      expect(states.map(({ reasons }) => reasons.expired)).toEqual(states.map(() => 1))
      expect(metric(place, "homeostat_watch_relists_total", { reason: "expired" })).toBe(states.length)
      // Each kind starts a new watch once. The restarted server may reject the first attempt.
      const lists = manager.watches.slice(watched).filter((path) => path.includes("sendInitialEvents"))
      expect(lists.length).toBeLessThan(3 * states.length)
      expect(states.find(({ kind }) => kind === "WebApp")?.size).toBe(4)
      expect(yield* strays(namespace)).toEqual([])
      expect(sent(place) - before).toBeLessThan(150)
    })
  )
})
