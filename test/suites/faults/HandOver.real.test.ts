/** Leader election while the API server is down. */
import { describe, expect } from "bun:test"
import { Effect } from "effect"
import * as Managed from "../Managed.ts"
import { real } from "./Pair.ts"
import { converged, want } from "./Wired.ts"

describe("With two managers,", () => {
  real("exactly one leads after an outage of the API server, and never both", (place) =>
    Effect.gen(function* () {
      const { cluster, first, namespace, overlaps, second } = place
      const server = yield* Effect.acquireRelease(cluster.process("kube-apiserver"), ({ start }) =>
        Effect.ignore(Effect.interruptible(start))
      )
      const sent = first.manager.requests.length + second.manager.requests.length
      yield* server.kill
      yield* Managed.eventually(
        "that nobody leads",
        Effect.sync(() => [first.state().leading, second.state().leading]),
        (leading) => !leading.includes(true)
      )
      yield* Effect.sleep("3 seconds")
      yield* server.start
      yield* Managed.eventually(
        "that one of them leads",
        Effect.sync(() => [first.state(), second.state()]),
        ([a, b]) => a?.leading !== b?.leading && a?.holder !== undefined && a.holder === b?.holder
      )
      yield* want({ namespace, name: "app-0" }, "registry.test/web:2")
      yield* converged(place)
      expect(overlaps()).toBe(0)
      expect([first, second].filter(({ state }) => state().leading)).toHaveLength(1)
      expect(first.manager.requests.length + second.manager.requests.length - sent).toBeLessThan(200)
    })
  )
})
