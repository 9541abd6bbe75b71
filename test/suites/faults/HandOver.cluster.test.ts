/** Leader election while the network fails: two managers, each behind its own TCP proxy. */
import { describe, expect } from "bun:test"
import { Effect } from "effect"
import * as Managed from "../Managed.ts"
import { leads, paired, type Replica, written } from "./Pair.ts"
import { converged, want } from "./Wired.ts"

/** Waits until the replica has sent `count` writes. */
const writes = (replica: Replica, count: number) =>
  Managed.eventually(
    `that ${replica.name} has written ${count} times`,
    Effect.sync(() => written(replica).length),
    (length) => length >= count
  )

describe("The leader of two managers", () => {
  paired("stops during a blackhole before the other one starts, and stands by when the connection is healed", (place) =>
    Effect.gen(function* () {
      const { first, namespace, overlaps, second } = place
      let round = 0
      // A change every 50 ms ensures that the leader always has something to write.
      yield* Effect.suspend(() => want({ namespace, name: `app-${round % 5}` }, `registry.test/web:${++round}`)).pipe(
        Effect.andThen(Effect.sleep("50 millis")),
        Effect.forever,
        Effect.forkScoped
      )
      const early = written(first).length
      yield* writes(first, early + 5)
      expect(written(second)).toEqual([])
      yield* first.proxy.blackhole
      yield* leads(second)
      yield* writes(second, 10)
      const last = written(first).at(-1)?.at ?? Number.POSITIVE_INFINITY
      expect(last).toBeLessThan(written(second)[0]?.at ?? 0)
      expect(first.state().leading).toBe(false)

      const count = written(first).length
      yield* first.proxy.heal
      yield* Managed.eventually(
        "that it knows who leads",
        Effect.sync(first.state),
        ({ holder, leading }) => holder === "second" && !leading
      )
      yield* writes(second, written(second).length + 20)
      expect(written(first)).toHaveLength(count)
      expect([first.state(), second.state()]).toEqual([
        { leading: false, holder: "second" },
        { leading: true, holder: "second" }
      ])
      expect(overlaps()).toBe(0)
    }).pipe(Effect.scoped, Effect.andThen(converged(place)))
  )
})
