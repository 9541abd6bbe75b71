import { describe, expect } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as TestClock from "effect/testing/TestClock"
import type { Informer } from "../cache/Cache.ts"
import type { Runner } from "../controller/Runner.ts"
import * as Collection from "./Collection.ts"

type Queue = Option.Option.Value<ReturnType<Runner["queue"]>>

const work = { ready: 0, processing: 0 }

/** A queue with these numbers of keys. */
const queueOf = (counts: typeof work) => ({ snapshot: () => counts }) as unknown as Queue

/** A manager with a controller of this many objects, and the number of its collections. */
const manager = (objects: number) =>
  Effect.gen(function* () {
    const synced = yield* Deferred.make<void>()
    const done = Deferred.await(synced)
    const store = { size: () => objects }
    const informer = { isOptional: () => false, settled: done, synced: done, store } as unknown as Informer
    // The API server does not serve the kind.
    const absent = { isOptional: () => true, settled: Effect.void, synced: Effect.never, store: { size: () => 0 } }
    const state = { collections: 0, queue: Option.none<Queue>() }
    const runner = { informers: [informer, informer, absent as unknown as Informer], queue: () => state.queue }
    yield* Collection.afterFirstPass([runner], () => void state.collections++)
    return { state, sync: Deferred.succeed(synced, undefined) }
  })

const second = TestClock.adjust("1 second")

describe("The garbage collection after the first pass", () => {
  effect("runs once, when all kinds are synced and the queues are empty", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { state, sync } = yield* manager(10_000)
        const counts = { ready: 2, processing: 1 }
        state.queue = Option.some(queueOf(counts))
        yield* TestClock.adjust("1 minute")
        yield* sync
        yield* second
        expect(state.collections).toBe(0)
        counts.ready = 0
        yield* second
        expect(state.collections).toBe(0)
        counts.processing = 0
        yield* second
        expect(state.collections).toBe(1)
        counts.processing = 1
        yield* second
        counts.processing = 0
        yield* TestClock.adjust("1 minute")
        expect(state.collections).toBe(1)
      })
    )
  )

  effect("runs after the first pass of each term, and after the first lists of a standby", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { state, sync } = yield* manager(10_000)
        yield* sync
        const counts: Array<number> = []
        for (const queue of [undefined, queueOf(work), queueOf(work), undefined]) {
          state.queue = Option.fromNullishOr(queue)
          yield* TestClock.adjust("1 minute")
          counts.push(state.collections)
        }
        expect(counts).toEqual([1, 2, 3, 3])
      })
    )
  )

  effect("is skipped for few objects, and for so many that it would take too long", () =>
    Effect.scoped(
      Effect.gen(function* () {
        for (const [objects, collections] of [
          [499, 0],
          [500, 1],
          [25_000, 1],
          [25_001, 0]
        ] as const) {
          const { state, sync } = yield* manager(objects * 2)
          yield* sync
          yield* TestClock.adjust("1 minute")
          expect(state.collections).toBe(collections)
        }
      })
    )
  )
})
