/** A clock whose time a test sets, as NTP or an administrator would, while the tested code runs. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

/** A clock with the same rate as another one, and a time that differs by this many ms. */
export const skewed = (clock: Clock.Clock, skew: () => number): Clock.Clock => ({
  currentTimeMillisUnsafe: () => clock.currentTimeMillisUnsafe() + skew(),
  currentTimeNanosUnsafe: () => clock.currentTimeNanosUnsafe(),
  monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
  monotonicTimeNanos: clock.monotonicTimeNanos,
  currentTimeMillis: Effect.map(clock.currentTimeMillis, (millis) => millis + skew()),
  currentTimeNanos: clock.currentTimeNanos,
  sleep: (duration) => clock.sleep(duration)
})

/** The current clock, without a difference at first. */
export const make = Effect.map(Clock.Clock, (clock) => {
  let skew = 0
  return {
    clock: skewed(clock, () => skew),
    /** Sets the difference in ms from now on. */
    set: (millis: number): void => {
      skew = millis
    }
  }
})

/** Both directions of a change. */
export const ways = [
  ["back", -3_600_000],
  ["forth", 3_600_000]
] as const
