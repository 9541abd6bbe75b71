import { expect } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as TestClock from "effect/testing/TestClock"
import * as WallClock from "../resource/WallClock.fixture.ts"
import * as Backoff from "./Backoff.ts"

/** The next `count` delays of the key, for consecutive attempts. */
const delays = (backoffs: Backoff.Backoffs, key: string, count: number) =>
  Effect.map(Effect.replicateEffect(backoffs.next(key, "failed"), count), (all) => [...all].map(Option.getOrNull))

effect("the default doubles from 5 ms to 1000 s and stays there", () =>
  Effect.gen(function* () {
    const backoffs = yield* Backoff.make(Backoff.default)
    const first = yield* delays(backoffs, "a", 20)
    expect(first.slice(0, 5)).toEqual([5, 10, 20, 40, 80])
    expect(first.slice(16)).toEqual([327_680, 655_360, 1_000_000, 1_000_000])
    const later = yield* delays(backoffs, "a", 2000)
    expect(new Set(later)).toEqual(new Set([1_000_000]))
    expect(backoffs.attempts("a")).toBe(2020)
  })
)

effect("only attempts advance a schedule, not time", () =>
  Effect.gen(function* () {
    const backoffs = yield* Backoff.make(Backoff.default)
    yield* delays(backoffs, "a", 3)
    yield* TestClock.adjust("1 day")
    expect(yield* delays(backoffs, "a", 1)).toEqual([40])
  })
)

effect("each key has its own state, and a forgotten key starts again", () =>
  Effect.gen(function* () {
    const backoffs = yield* Backoff.make(Backoff.default)
    expect(yield* delays(backoffs, "a", 3)).toEqual([5, 10, 20])
    expect(yield* delays(backoffs, "b", 1)).toEqual([5])
    expect([backoffs.attempts("a"), backoffs.attempts("b"), backoffs.size()]).toEqual([3, 1, 2])
    backoffs.forget("a")
    expect([backoffs.attempts("a"), backoffs.size()]).toEqual([0, 1])
    expect(yield* delays(backoffs, "a", 2)).toEqual([5, 10])
    expect(yield* delays(backoffs, "b", 1)).toEqual([10])
  })
)

effect("worst returns the most consecutive attempts and the longest delay", () =>
  Effect.gen(function* () {
    const backoffs = yield* Backoff.make(Backoff.default)
    expect(backoffs.worst()).toEqual({ attempts: 0, delayMillis: 0 })
    yield* delays(backoffs, "a", 3)
    yield* delays(backoffs, "b", 1)
    expect(backoffs.worst()).toEqual({ attempts: 3, delayMillis: 20 })
    backoffs.forget("a")
    expect(backoffs.worst()).toEqual({ attempts: 1, delayMillis: 5 })
  })
)

effect("a schedule that ends returns no delay, and starts again with the next failure", () =>
  Effect.gen(function* () {
    const backoffs = yield* Backoff.make(Schedule.upTo(Schedule.spaced("1 second"), { times: 2 }))
    expect(yield* delays(backoffs, "a", 3)).toEqual([1000, 1000, null])
    expect([backoffs.attempts("a"), backoffs.size()]).toEqual([0, 0])
    expect(yield* delays(backoffs, "a", 3)).toEqual([1000, 1000, null])
  })
)

effect("a schedule can depend on the result of the attempt", () =>
  Effect.gen(function* () {
    const schedule = Schedule.spaced(100).pipe(
      Schedule.setInputType<string>(),
      Schedule.while(({ input }) => input !== "hopeless")
    )
    const backoffs = yield* Backoff.make(schedule)
    expect(yield* backoffs.next("a", "Requeue")).toEqual(Option.some(100))
    expect(yield* backoffs.next("a", "hopeless")).toEqual(Option.none())
  })
)

effect("a schedule uses the time of the Clock", () =>
  Effect.gen(function* () {
    const backoffs = yield* Backoff.make(Schedule.upTo(Schedule.spaced(10), { duration: "1 minute" }))
    expect(yield* delays(backoffs, "a", 5)).toEqual([10, 10, 10, 10, 10])
    yield* TestClock.adjust("61 seconds")
    expect(yield* delays(backoffs, "a", 1)).toEqual([null])

    const windows = yield* Backoff.make(Schedule.fixed("10 seconds"))
    expect(yield* delays(windows, "a", 1)).toEqual([10_000])
    yield* TestClock.adjust("13 seconds")
    // The second window began 3 s ago, so the delay is its rest.
    expect(yield* delays(windows, "a", 1)).toEqual([7000])
    yield* TestClock.adjust("30 seconds")
    // A window was missed, so the delay is zero.
    expect(yield* delays(windows, "a", 1)).toEqual([0])
  })
)

for (const [way, millis] of WallClock.ways) {
  effect(`a wall clock that is set ${way} by an hour does not change how long a key has been failing`, () =>
    Effect.gen(function* () {
      const wall = yield* WallClock.make
      const retry = Schedule.upTo(Schedule.spaced(10), { duration: "1 minute" })
      const backoffs = yield* Effect.provideService(Backoff.make(retry), Clock.Clock, wall.clock)
      expect(yield* delays(backoffs, "a", 1)).toEqual([10])
      wall.set(millis)
      yield* TestClock.adjust("30 seconds")
      expect(yield* delays(backoffs, "a", 1)).toEqual([10])
      yield* TestClock.adjust("31 seconds")
      expect(yield* delays(backoffs, "a", 1)).toEqual([null])

      // The failures of a new key use the current time.
      wall.set(10_000)
      const minutes = yield* Effect.provideService(Backoff.make(Schedule.cron("* * * * *")), Clock.Clock, wall.clock)
      expect(yield* delays(minutes, "a", 1)).toEqual([49_000])
    })
  )
}

effect("an exponential schedule without a cap ends with an infinite delay, not with 0", () =>
  Effect.gen(function* () {
    const backoffs = yield* Backoff.make(Schedule.exponential("5 millis"))
    yield* delays(backoffs, "a", 1100)
    expect(yield* delays(backoffs, "a", 1)).toEqual([Number.POSITIVE_INFINITY])
  })
)

effect("a schedule with jitter stays within its bounds", () =>
  Effect.gen(function* () {
    const backoffs = yield* Backoff.make(Schedule.jittered(Schedule.spaced(1000)))
    const all = yield* delays(backoffs, "a", 200)
    for (const delay of all) expect(delay).toBeWithin(800, 1200.1)
    expect(new Set(all).size).toBeGreaterThan(100)
  })
)

class Pace extends Context.Service<Pace, { readonly millis: number }>()("test/Pace") {}

effect("a schedule gets its requirements when the back-off is made", () =>
  Effect.gen(function* () {
    const schedule = Schedule.addDelay(Schedule.forever, () => Effect.map(Pace, (pace) => pace.millis))
    const backoffs = yield* Backoff.make(schedule).pipe(Effect.provideService(Pace, { millis: 250 }))
    expect(yield* delays(backoffs, "a", 1)).toEqual([250])
  })
)

effect("forget has precedence over a schedule that is still running", () =>
  Effect.gen(function* () {
    const gate = yield* Deferred.make<void>()
    const slow = Schedule.addDelay(Schedule.forever, ({ output }) =>
      Effect.as(Deferred.await(gate), Duration.millis(output + 1))
    )
    const backoffs = yield* Backoff.make(slow)
    const step = yield* Effect.forkChild(backoffs.next("a", "failed"))
    yield* TestClock.adjust(0)
    backoffs.forget("a")
    yield* Deferred.succeed(gate, undefined)
    expect(yield* Fiber.join(step)).toEqual(Option.some(1))
    expect(backoffs.attempts("a")).toBe(0)
    expect(yield* delays(backoffs, "a", 2)).toEqual([1, 2])
  })
)

effect("a schedule that throws starts again with the next failure", () =>
  Effect.gen(function* () {
    let broken = true
    const schedule = Schedule.addDelay(Schedule.forever, ({ attempt }) => {
      if (broken) throw new Error("a mistake in the schedule")
      return Effect.succeed(attempt * 100)
    })
    const backoffs = yield* Backoff.make(schedule)
    expect(Exit.isFailure(yield* Effect.exit(backoffs.next("a", "failed")))).toBe(true)
    broken = false
    expect(yield* delays(backoffs, "a", 2)).toEqual([100, 200])
  })
)
