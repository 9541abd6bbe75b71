/** A manager loses its permissions and gets them back. */
import { describe, expect } from "bun:test"
import { Effect } from "effect"
import * as Managed from "../Managed.ts"
import * as Granted from "./Granted.ts"
import { converged, informers, metric, pass, real, sent, want } from "./Wired.ts"

let granted: Granted.Granted | undefined

describe("A manager whose permissions are revoked", () => {
  real(
    "reports the missing ones, keeps its caches, retries now and then, and continues after the grant",
    (place) =>
      Effect.gen(function* () {
        const { manager, namespace, proxy } = place
        const { grant, revoke } = yield* Effect.fromNullishOr(granted)
        const before = sent(place)
        const attempts = manager.attempts.length
        yield* revoke
        yield* want({ namespace, name: "app-0" }, "registry.test/web:2")
        // The API server authorizes a watch only when it starts, so open watches continue.
        yield* Managed.eventually(
          "a reconcile that is forbidden",
          Effect.sync(() => manager.attempts.slice(attempts)),
          (all) => all.some(({ outcome }) => outcome._tag === "Failed")
        )
        yield* proxy.cut
        yield* Managed.eventually(
          "that every kind says which right it takes",
          Effect.sync(() => informers(place).map(({ problem, status }) => [status, problem] as const)),
          (all) =>
            all.every(
              ([status, problem]) => status === "failing" && problem?.includes("requires permission to list and watch")
            )
        )
        const seen = informers(place).map(({ kind, size, synced }) => [kind, size, synced])
        expect(seen).toEqual([
          ["WebApp", 5, true],
          ["Deployment", 5, true],
          ["Service", 5, true],
          ["ControllerRevision", 0, true],
          ["NetworkPolicy", 0, true],
          ["Job", 0, true],
          ["Ingress", 0, true],
          ["HorizontalPodAutoscaler", 0, true],
          ["PodDisruptionBudget", 0, true],
          ["Pod", 0, true],
          ["ConfigMap", 0, true],
          ["Secret", 0, true]
        ])
        yield* want({ namespace, name: "app-1" }, "registry.test/web:3")
        yield* pass(place, "3 seconds")
        expect(sent(place) - before).toBeLessThan(120)
        expect(metric(place, "rest_client_requests_total", { code: "403" })).toBeGreaterThan(5)

        yield* grant
        yield* converged(place)
        const states = yield* Managed.eventually(
          "that all kinds are followed again",
          Effect.sync(() => informers(place)),
          (all) => all.every(({ status }) => status === "synced")
        )
        expect(states.map(({ problem, relists }) => [problem, relists])).toEqual(states.map(() => [undefined, 0]))
      }),
    {
      user: (cluster, namespace) =>
        Effect.map(Granted.user(cluster, namespace), (made) => {
          granted = made
          return made.user
        })
    }
  )
})
