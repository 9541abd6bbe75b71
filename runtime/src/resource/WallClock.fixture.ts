/**
 * A machine whose time is set, by its clock's master or by hand, while what is tested goes on.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

/** A clock that runs as the other one does, and shows a time that is wrong by so many ms. */
export const skewed = (clock: Clock.Clock, skew: () => number): Clock.Clock => ({
  [Clock.ClockTypeId]: Clock.ClockTypeId,
  unsafeCurrentTimeMillis: () => clock.unsafeCurrentTimeMillis() + skew(),
  unsafeCurrentTimeNanos: () => clock.unsafeCurrentTimeNanos(),
  currentTimeMillis: Effect.map(clock.currentTimeMillis, (millis) => millis + skew()),
  currentTimeNanos: clock.currentTimeNanos,
  sleep: (duration) => clock.sleep(duration)
})

/** The present clock, right until it is set. */
export const make = Effect.map(Effect.clock, (clock) => {
  let skew = 0
  return {
    clock: skewed(clock, () => skew),
    /** It shows a time that is wrong by so many ms from now on. */
    set: (millis: number): void => {
      skew = millis
    }
  }
})

/** Both ways to set it. */
export const ways = [
  ["back", -3_600_000],
  ["forth", 3_600_000]
] as const
