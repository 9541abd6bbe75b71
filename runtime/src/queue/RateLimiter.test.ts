import { expect } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/TestClock"
import * as WallClock from "../resource/WallClock.fixture.ts"
import * as RateLimiter from "./RateLimiter.ts"

/** `count` reservations in a row. */
const reserve = (limiter: RateLimiter.RateLimiter, count: number): Array<number> =>
  Array.from({ length: count }, limiter.reserve)

effect("a hundred retries go at once, the ones after them ten per second", () =>
  Effect.gen(function* () {
    const limiter = yield* RateLimiter.make()
    expect(new Set(reserve(limiter, 100))).toEqual(new Set([0]))
    expect(reserve(limiter, 4)).toEqual([100, 200, 300, 400])
  })
)

effect("tokens come back with time, never more than the burst", () =>
  Effect.gen(function* () {
    const limiter = yield* RateLimiter.make({ perSecond: 10, burst: 5 })
    reserve(limiter, 5)
    yield* TestClock.adjust(250)
    expect(reserve(limiter, 4)).toEqual([0, 0, 50, 150])
    yield* TestClock.adjust("1 hour")
    expect(reserve(limiter, 7)).toEqual([0, 0, 0, 0, 0, 100, 200])
  })
)

effect("a delay is a whole number of milliseconds after which the token is there", () =>
  Effect.gen(function* () {
    const limiter = yield* RateLimiter.make({ perSecond: 3, burst: 1 })
    expect(reserve(limiter, 4)).toEqual([0, 334, 667, 1000])
  })
)

effect("nothing waits longer than the horizon, and what waits that long reserves nothing", () =>
  Effect.gen(function* () {
    const limiter = yield* RateLimiter.make({ perSecond: 10, burst: 1, horizonMillis: 1000 })
    expect(reserve(limiter, 10)).toEqual([0, 100, 200, 300, 400, 500, 600, 700, 800, 900])
    expect(new Set(reserve(limiter, 10_000))).toEqual(new Set([1000]))
    yield* TestClock.adjust(1000)
    expect(reserve(limiter, 2)).toEqual([0, 100])
  })
)

effect("by default nothing waits longer than the back-off's longest delay", () =>
  Effect.gen(function* () {
    const limiter = yield* RateLimiter.make()
    expect(Math.max(...reserve(limiter, 50_000))).toBe(1_000_000)
  })
)

for (const [way, millis] of WallClock.ways) {
  effect(`a machine's time that is set ${way} by an hour frees no token and blocks none`, () =>
    Effect.gen(function* () {
      const wall = yield* WallClock.make
      const limiter = yield* Effect.withClock(RateLimiter.make({ perSecond: 10, burst: 1 }), wall.clock)
      expect(reserve(limiter, 2)).toEqual([0, 100])
      wall.set(millis)
      yield* TestClock.adjust(50)
      expect(limiter.reserve()).toBe(150)
      yield* TestClock.adjust(250)
      expect(limiter.reserve()).toBe(0)
    })
  )
}
