/** The virtual clocks of tests. */
import { describe, expect } from "bun:test"
import { Clock, Deferred, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { eventually, stays } from "./Eventually.ts"
import { effect, live } from "./Test.ts"
import * as VirtualTime from "./VirtualTime.ts"

const second = 1000

/** Records the time at the end of each sleep. */
const notes = () => {
  const noted: Array<readonly [name: string, millis: number]> = []
  const note = (name: string) =>
    Effect.flatMap(Clock.currentTimeMillis, (millis) => Effect.sync(() => void noted.push([name, millis])))
  return { noted, note }
}

describe("TestClock.adjust", () => {
  effect("ends each sleep at its time, and runs its continuation before the next one ends", () =>
    Effect.gen(function* () {
      const { note, noted } = notes()
      yield* Effect.forkChild(Effect.andThen(Effect.sleep("3 seconds"), note("later")))
      yield* Effect.forkChild(
        Effect.sleep("1 second").pipe(
          Effect.andThen(note("first")),
          Effect.andThen(Effect.sleep("1 second")),
          Effect.andThen(note("second"))
        )
      )
      yield* TestClock.adjust("2999 millis")
      expect(noted).toEqual([
        ["first", second],
        ["second", 2 * second]
      ])
      yield* TestClock.adjust("1 millis")
      expect(noted.at(-1)).toEqual(["later", 3 * second])
      expect(yield* Clock.currentTimeMillis).toBe(3 * second)
    })
  )

  effect("waits for work that Effect's scheduler continues by a timer", () =>
    Effect.gen(function* () {
      let turns = 0
      const work = Effect.repeat(
        Effect.andThen(
          Effect.sync(() => void turns++),
          Effect.yieldNow
        ),
        { times: 20_000 }
      )
      yield* Effect.forkChild(Effect.andThen(Effect.sleep("1 second"), work))
      let after = 0
      yield* Effect.forkChild(
        Effect.andThen(
          Effect.sleep("1001 millis"),
          Effect.sync(() => {
            after = turns
          })
        )
      )
      yield* TestClock.adjust("2 seconds")
      expect(after).toBe(20_001)
    })
  )

  effect("by two fibers moves the clock once, and never back", () =>
    Effect.gen(function* () {
      yield* Effect.all([TestClock.adjust("1 second"), TestClock.adjust("2 seconds")], { concurrency: 2 })
      expect(yield* Clock.currentTimeMillis).toBe(2 * second)
    })
  )

  effect("allows the interruption of a sleeping fiber", () =>
    Effect.gen(function* () {
      const { note, noted } = notes()
      const fiber = yield* Effect.forkChild(Effect.andThen(Effect.sleep("1 second"), note("awake")))
      yield* TestClock.adjust("500 millis")
      expect(yield* VirtualTime.sleeps).toEqual([second])
      yield* Fiber.interrupt(fiber)
      expect(yield* VirtualTime.sleeps).toEqual([])
      yield* TestClock.adjust("1 second")
      expect(noted).toEqual([])
    })
  )
})

effect("TestClock.setTime ends the sleeps until then, and a time in the past does not change sleeps", () =>
  Effect.gen(function* () {
    const { note, noted } = notes()
    yield* Effect.forkChild(Effect.andThen(Effect.sleep("1 minute"), note("minute")))
    yield* Effect.forkChild(Effect.andThen(Effect.sleep("2 minutes"), note("two minutes")))
    yield* TestClock.setTime(90 * second)
    expect(noted).toEqual([["minute", 60 * second]])
    yield* TestClock.setTime(0)
    yield* TestClock.adjust("30 seconds")
    expect(noted.slice(1)).toEqual([["two minutes", 30 * second]])
  })
)

effect("eventually and stays move the clock", () =>
  Effect.gen(function* () {
    const fiber = yield* Effect.forkChild(Effect.sleep("10 seconds"))
    yield* eventually(
      "the sleep has ended",
      Effect.sync(() => fiber.pollUnsafe() !== undefined),
      Boolean
    )
    expect(yield* Clock.currentTimeMillis).toBe(10 * second)
    yield* stays("nothing", Effect.void, "5 seconds")
    expect(yield* Clock.currentTimeMillis).toBe(15 * second)
  })
)

live("VirtualTime.set moves the wall clock, but not sleeps and the monotonic time", () => {
  const time = VirtualTime.make(10 * second)
  return time.within(
    Effect.gen(function* () {
      const { note, noted } = notes()
      yield* Effect.forkChild(Effect.andThen(Effect.sleep("1 second"), note("awake")))
      yield* time.pass(0)
      const before = yield* Clock.monotonicTimeNanos
      yield* time.set(3_600_000)
      expect(yield* Clock.currentTimeMillis).toBe(3_600_000)
      yield* time.pass("1500 micros")
      expect((yield* Clock.monotonicTimeNanos) - before).toBe(1_500_000n)
      expect(yield* Clock.currentTimeNanos).toBe(3_600_001_500_000n)
      yield* time.pass("1 second")
      expect(noted).toEqual([["awake", 3_601_000]])
    })
  )
})

live("VirtualTime.jump ends all sleeps that are due at the new time", () => {
  const time = VirtualTime.make()
  return time.within(
    Effect.gen(function* () {
      const { note, noted } = notes()
      for (const name of ["2 seconds", "1 second"] as const) {
        yield* Effect.forkChild(Effect.andThen(Effect.sleep(name), note(name)))
      }
      yield* time.pass(0)
      yield* time.jump("1 minute")
      expect(noted).toEqual([])
      yield* time.pass(0)
      expect(noted).toEqual([
        ["1 second", 60 * second],
        ["2 seconds", 60 * second]
      ])
    })
  )
})

describe("A suspended process", () => {
  const times = { virtual: () => VirtualTime.make(), leaping: () => VirtualTime.leaping() }

  for (const name of ["virtual", "leaping"] as const) {
    live(`of ${name} time runs nothing, whatever wakes its fibers`, () => {
      const time = times[name]()
      const { resume, suspend, within } = time.process()
      return Effect.gen(function* () {
        const { note, noted } = notes()
        const answer = yield* Deferred.make<void>()
        const names = () => noted.map(([name]) => name)
        const start = <A>(effect: Effect.Effect<A>) => Effect.forkChild(within(effect))
        yield* start(Effect.andThen(Effect.sleep("1 second"), note("sleep")))
        yield* start(Effect.andThen(Deferred.await(answer), note("answer")))
        const interrupted = yield* start(Effect.onInterrupt(Effect.never, () => note("interruption")))
        yield* time.pass(1)
        suspend()
        yield* start(note("start"))
        yield* Deferred.succeed(answer, undefined)
        interrupted.interruptUnsafe()
        yield* time.pass("1 minute")
        expect(names()).toEqual([])
        resume()
        yield* time.pass(1)
        expect(names().sort()).toEqual(["answer", "interruption", "sleep", "start"])
      }).pipe(Effect.provideService(Clock.Clock, time.clock))
    })
  }
})

describe("VirtualTime.leaping", () => {
  live("runs in real time, and a leap shortens the sleeps", () =>
    Effect.gen(function* () {
      const { ahead, clock, leap } = VirtualTime.leaping()
      const sleep = (millis: number) =>
        Effect.forkChild(Effect.provideService(Effect.sleep(millis), Clock.Clock, clock))
      const [short, hour, day] = [yield* sleep(1), yield* sleep(3_600_000), yield* sleep(100 * 86_400_000)]
      yield* Fiber.join(short)
      expect(hour.pollUnsafe()).toBeUndefined()
      // A timer that the leap has shortened ends the sleep.
      yield* leap(3_600_000 - 200)
      expect(hour.pollUnsafe()).toBeUndefined()
      yield* Fiber.join(hour)
      expect(day.pollUnsafe()).toBeUndefined()
      yield* leap("100 days")
      yield* Fiber.join(day)
      expect(ahead()).toBe(100 * 86_400_000 + 3_600_000 - 200)
      // Two clocks are never read at the same instant.
      const difference = clock.currentTimeMillisUnsafe() - Date.now()
      expect(difference).toBeWithin(ahead() - 1000, ahead() + 1000)
    })
  )

  live("moves the time only while the test is idle", () =>
    Effect.gen(function* () {
      let calms = 0
      const { clock, pass } = VirtualTime.leaping({
        calm: Effect.sync(() => {
          calms++
        })
      })
      const seen: Array<number> = []
      const ticks = Effect.sync(() => seen.push(calms)).pipe(Effect.delay("1 minute"), Effect.forever)
      const fiber = yield* Effect.forkChild(Effect.provideService(ticks, Clock.Clock, clock))
      yield* Effect.yieldNow
      yield* pass("150 seconds")
      expect(seen).toEqual([1, 2])
      yield* Fiber.interrupt(fiber)
    })
  )

  live("moves from sleep to sleep, so that a repeated sleep ends at each of its times", () =>
    Effect.gen(function* () {
      const { clock, pass } = VirtualTime.leaping()
      const began = clock.currentTimeMillisUnsafe()
      const ends: Array<number> = []
      const sleeper = Effect.forever(
        Effect.andThen(
          Effect.sleep("10 minutes"),
          Effect.sync(() => {
            ends.push(Math.round((clock.currentTimeMillisUnsafe() - began) / 60_000))
          })
        )
      )
      const fiber = yield* Effect.forkChild(Effect.provideService(sleeper, Clock.Clock, clock))
      yield* Effect.yieldNow
      yield* pass("59 minutes")
      expect(ends).toEqual([10, 20, 30, 40, 50])
      yield* pass("2 minutes")
      expect(ends).toEqual([10, 20, 30, 40, 50, 60])
      expect(Math.round((clock.currentTimeMillisUnsafe() - began) / 60_000)).toBe(61)
      yield* Fiber.interrupt(fiber)
    })
  )
})
