import { expect } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as TestClock from "effect/testing/TestClock"
import * as WorkQueue from "./WorkQueue.ts"

const take = <T>(queue: WorkQueue.WorkQueue<T>) =>
  Effect.flatMap(queue.take, (taken) => Effect.orDie(Effect.fromOption(taken)))

effect("shutDown ends all workers, at any moment while they receive keys", () =>
  Effect.gen(function* () {
    for (let moment = 0; moment < 40; moment++) {
      const queue = yield* WorkQueue.make<string>()
      const served: Array<string> = []
      const work = Effect.gen(function* () {
        while (true) {
          const item = yield* queue.take
          if (Option.isNone(item)) return
          yield* Effect.yieldNow
          served.push(item.value.key)
          queue.done(item.value.key)
        }
      })
      const workers = yield* Effect.replicateEffect(Effect.forkChild(work), 4)
      const feed = Effect.forEach(
        Array.from({ length: 20 }, (_, n) => n),
        (n) =>
          Effect.andThen(
            Effect.sync(() => queue.add(`k${n % 7}`, "updated")),
            Effect.yieldNow
          ),
        { discard: true }
      )
      const feeder = yield* Effect.forkChild(feed)
      for (let turn = 0; turn < moment; turn++) yield* Effect.yieldNow
      queue.shutDown()
      const after = served.length
      yield* Fiber.joinAll(workers)
      yield* Fiber.join(feeder)
      // Runs in progress end; no new run begins.
      expect(served.length - after).toBeLessThanOrEqual(4)
      expect(queue.snapshot()).toMatchObject({ ready: 0, delayed: 0, processing: 0 })
    }
  })
)

effect("a key keeps the highest requested priority through a delay until it runs", () =>
  Effect.gen(function* () {
    const queue = yield* WorkQueue.make<string>()
    queue.addAfter("a", 10, "retry", { priority: 3 })
    queue.addAfter("a", 20, "resync", { priority: WorkQueue.low })
    queue.add("b", "updated", { priority: 2 })
    yield* TestClock.adjust("10 millis")
    expect(yield* take(queue)).toMatchObject({ key: "a", priority: 3 })
    // A trigger during the run determines the priority of the next run, because the former priority ended with the run.
    queue.add("a", "initial", { priority: WorkQueue.low })
    queue.addAfter("a", 10, "retry", { priority: 1 })
    queue.done("a")
    expect(yield* take(queue)).toMatchObject({ key: "b", priority: 2 })
    expect(yield* take(queue)).toMatchObject({ key: "a", priority: 1 })
  })
)

effect("delayed and running keys do not count as ready", () =>
  Effect.gen(function* () {
    const queue = yield* WorkQueue.make<string>()
    const ready = () => queue.snapshot().ready
    queue.addAfter("later", 1000, "retry")
    expect(ready()).toBe(0)
    queue.add("now", "updated")
    expect(ready()).toBe(1)
    yield* take(queue)
    expect(ready()).toBe(0)
    yield* TestClock.adjust("1 second")
    expect(ready()).toBe(1)
    queue.shutDown()
    expect(ready()).toBe(0)
    expect(Option.isNone(yield* queue.take)).toBe(true)
  })
)
