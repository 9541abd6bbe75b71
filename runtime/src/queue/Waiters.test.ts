import { expect } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as References from "effect/References"
import * as Waiters from "./Waiters.ts"

const yields = (count: number) => Effect.replicateEffect(Effect.yieldNow, count, { discard: true })

effect("A waiter misses no signal between its check and its registration", () =>
  Effect.gen(function* () {
    // Each fiber yields after another number of steps, so some pause hits every gap. With fewer than 16 steps, an Effect fiber only yields.
    for (let steps = 16; steps < 40; steps++) {
      for (let pause = 0; pause < 8; pause++) {
        const stock: Array<number> = []
        const waiters = Waiters.make(
          () => stock.length,
          () => stock.shift()
        )
        const waiter = yield* Effect.forkChild(
          Effect.provideService(Effect.uninterruptible(waiters.take), References.MaxOpsBeforeYield, steps)
        )
        yield* yields(pause)
        stock.push(pause)
        waiters.signal()
        yield* yields(50)
        expect(waiter.pollUnsafe()).toEqual(Exit.succeed(pause))
      }
    }
  })
)

effect("A waiter is served again and again, once for each available value", () =>
  Effect.gen(function* () {
    const stock: Array<number> = []
    const waiters = Waiters.make(
      () => stock.length,
      () => stock.shift()
    )
    const taken: Array<number> = []
    const workers = yield* Effect.replicateEffect(
      Effect.forkChild(Effect.forever(Effect.map(Effect.uninterruptible(waiters.take), (one) => taken.push(one)))),
      3
    )
    for (let one = 0; one < 100; one++) {
      stock.push(one)
      waiters.signal()
      if (one % 7 === 0) yield* yields(3)
    }
    yield* yields(1000)
    expect(taken).toEqual(Array.from({ length: 100 }, (_, one) => one))
    yield* Fiber.interruptAll(workers)
  })
)
