import { expect } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Takers from "./Takers.ts"

const yields = (count: number) => Effect.replicateEffect(Effect.yieldNow(), count, { discard: true })

effect("what becomes available while a taker is between looking and lining up is not missed", () =>
  Effect.gen(function* () {
    for (let pause = 0; pause < 30; pause++) {
      const stock: Array<number> = []
      const takers = Takers.make(
        () => stock.length,
        () => stock.shift()
      )
      // This fiber yields at every step, so one of the pauses ends in any gap there may be.
      const taker = yield* Effect.fork(Effect.withMaxOpsBeforeYield(Effect.uninterruptible(takers.take), 1))
      yield* yields(pause)
      stock.push(pause)
      takers.call()
      yield* yields(100)
      expect(taker.unsafePoll()).not.toBeNull()
      expect(yield* Fiber.join(taker)).toBe(pause)
    }
  })
)

effect("a taker is served again and again, and each as often as there is something for it", () =>
  Effect.gen(function* () {
    const stock: Array<number> = []
    const takers = Takers.make(
      () => stock.length,
      () => stock.shift()
    )
    const taken: Array<number> = []
    const workers = yield* Effect.replicateEffect(
      Effect.fork(Effect.forever(Effect.map(Effect.uninterruptible(takers.take), (one) => taken.push(one)))),
      3
    )
    for (let one = 0; one < 100; one++) {
      stock.push(one)
      takers.call()
      if (one % 7 === 0) yield* yields(3)
    }
    yield* yields(1000)
    expect(taken).toEqual(Array.from({ length: 100 }, (_, one) => one))
    yield* Fiber.interruptAll(workers)
  })
)
