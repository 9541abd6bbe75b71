/**
 * For models that play many schedules: a clock that a test moves. TestClock waits some real milliseconds at every step until
 * all fibers have come to rest; where nothing but memory is waited for, a turn of the event loop does.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

/** A clock at time 0, and what moves it. */
export interface VirtualClock {
  readonly clock: Clock.Clock
  /** Moves it by so many ms: everybody who sleeps wakes at his time, and all that follows happens, one after the other. */
  readonly advance: (millis: number) => Effect.Effect<void>
}

interface Sleeper {
  readonly at: number
  readonly wake: () => void
}

const turn = Effect.async<void>((resume) => {
  setImmediate(() => resume(Effect.void))
})

/** Microtasks, and what fibers that yielded do, are over after a turn; another one for what that set off. */
const rest = Effect.zipRight(turn, turn)

/** A clock. */
export const make = (): VirtualClock => {
  let now = 0
  const sleepers = new Set<Sleeper>()
  const clock: Clock.Clock = {
    [Clock.ClockTypeId]: Clock.ClockTypeId,
    unsafeCurrentTimeMillis: () => now,
    unsafeCurrentTimeNanos: () => BigInt(now) * 1_000_000n,
    currentTimeMillis: Effect.sync(() => now),
    currentTimeNanos: Effect.sync(() => BigInt(now) * 1_000_000n),
    sleep: (duration) =>
      Effect.async((resume) => {
        // Whole milliseconds, as a timer's.
        const sleeper = { at: now + Math.ceil(Duration.toMillis(duration)), wake: () => resume(Effect.void) }
        sleepers.add(sleeper)
        return Effect.sync(() => void sleepers.delete(sleeper))
      })
  }

  /** Who wakes first, of those who wake by then. */
  const next = (by: number): Sleeper | undefined => {
    let first: Sleeper | undefined
    for (const sleeper of sleepers) {
      if (sleeper.at <= by && (first === undefined || sleeper.at < first.at)) first = sleeper
    }
    return first
  }

  const advance = (millis: number) =>
    Effect.gen(function* () {
      const until = now + millis
      yield* rest
      for (let sleeper = next(until); sleeper !== undefined; sleeper = next(until)) {
        now = Math.max(now, sleeper.at)
        sleepers.delete(sleeper)
        sleeper.wake()
        yield* rest
      }
      now = until
    })
  return { clock, advance }
}
