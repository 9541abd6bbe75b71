import { expect } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"
import * as Timer from "./Timer.ts"

/** A timer over a list of times, and the times at which it rang. */
const make = Effect.gen(function* () {
  const real = yield* Clock.Clock
  const hook = { onSleep: (): void => {} }
  const clock: Clock.Clock = {
    currentTimeMillisUnsafe: () => real.currentTimeMillisUnsafe(),
    currentTimeNanosUnsafe: () => real.currentTimeNanosUnsafe(),
    monotonicTimeNanosUnsafe: () => real.monotonicTimeNanosUnsafe(),
    currentTimeMillis: real.currentTimeMillis,
    currentTimeNanos: real.currentTimeNanos,
    monotonicTimeNanos: real.monotonicTimeNanos,
    sleep: (duration) => {
      hook.onSleep()
      return real.sleep(duration)
    }
  }
  let due: Array<number> = []
  const rang: Array<number> = []
  const state = { calls: 0 }
  const timer = yield* Timer.make(clock, () => {
    state.calls++
    const now = clock.currentTimeMillisUnsafe()
    for (const time of due) if (time <= now) rang.push(now)
    due = due.filter((time) => time > now)
    return Math.min(Number.POSITIVE_INFINITY, ...due)
  })
  const add = (time: number): void => {
    due.push(time)
    timer.set(time)
  }
  return { add, rang, state, hook }
})

effect("Timer rings when an entry is due, even if an earlier one is added while it sleeps", () =>
  Effect.gen(function* () {
    const { add, rang } = yield* make
    add(100)
    yield* TestClock.adjust(10)
    add(20)
    add(15)
    for (let step = 0; step < 10; step++) yield* TestClock.adjust(step < 2 ? 5 : 10)
    yield* TestClock.adjust(50)
    expect(rang).toEqual([15, 20, 100])
  })
)

effect("Timer rings for an entry that is added before its fiber starts", () =>
  Effect.gen(function* () {
    const { add, rang } = yield* make
    add(1)
    yield* TestClock.adjust(1)
    expect(rang).toEqual([1])
  })
)

effect("Timer rings for an entry that is added between a ring and the next sleep", () =>
  Effect.gen(function* () {
    const { add, rang, hook } = yield* make
    hook.onSleep = () => {
      hook.onSleep = () => {}
      add(5)
    }
    add(100)
    yield* TestClock.adjust(5)
    expect(rang).toEqual([5])
  })
)

effect("Timer sleeps without entries, and a later entry does not wake it", () =>
  Effect.gen(function* () {
    const { add, state } = yield* make
    yield* TestClock.adjust("1 day")
    expect(state.calls).toBe(1)
    add(86_400_000 + 100)
    yield* TestClock.adjust(1)
    expect(state.calls).toBe(2)
    for (let time = 200; time < 300; time++) add(86_400_000 + time)
    yield* TestClock.adjust(1)
    expect(state.calls).toBe(2)
  })
)
