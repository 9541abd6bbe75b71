/**
 * The real time, with leaps: what waits for minutes is tested on a real connection within seconds.
 */
import { Clock, Duration, Effect } from "effect"

/** A clock that goes as the real one does and can be put forward. */
export interface LeapClock {
  /** To be given to what is tested, with `Effect.withClock`. */
  readonly clock: Clock.Clock
  /** Moves the clock, and ends when every sleep that is due by then has ended and its fiber has come to the next wait. */
  readonly leap: (duration: Duration.DurationInput) => Effect.Effect<void>
}

interface Sleeper {
  readonly wakeAt: number
  readonly wake: () => void
  timer: Timer | undefined
}

const turn = Effect.async<void>((resume) => {
  setImmediate(() => resume(Effect.void))
})

/** What timers can wait for; longer is for ever. */
const longestMillis = 2 ** 31 - 1

/** A clock that shows the real time until the first leap. */
export const make = (): LeapClock => {
  const real = Clock.make()
  const sleepers = new Set<Sleeper>()
  let leapt = 0
  const millis = () => real.unsafeCurrentTimeMillis() + leapt
  const nanos = () => real.unsafeCurrentTimeNanos() + BigInt(leapt) * 1_000_000n

  const arm = (sleeper: Sleeper): void => {
    clearTimeout(sleeper.timer)
    const left = Math.max(0, sleeper.wakeAt - millis())
    sleeper.timer = left > longestMillis ? undefined : setTimeout(sleeper.wake, left)
  }

  return {
    clock: {
      [Clock.ClockTypeId]: Clock.ClockTypeId,
      unsafeCurrentTimeMillis: millis,
      unsafeCurrentTimeNanos: nanos,
      currentTimeMillis: Effect.sync(millis),
      currentTimeNanos: Effect.sync(nanos),
      sleep: (duration) =>
        Effect.async((resume) => {
          const sleeper: Sleeper = {
            wakeAt: millis() + Duration.toMillis(duration),
            wake: () => {
              sleepers.delete(sleeper)
              resume(Effect.void)
            },
            timer: undefined
          }
          sleepers.add(sleeper)
          arm(sleeper)
          return Effect.sync(() => {
            clearTimeout(sleeper.timer)
            sleepers.delete(sleeper)
          })
        })
    },
    leap: (duration) =>
      Effect.gen(function* () {
        leapt += Duration.toMillis(duration)
        const by = millis()
        for (const sleeper of sleepers) arm(sleeper)
        while ([...sleepers].some(({ wakeAt }) => wakeAt <= by)) yield* turn
        // A fiber that has woken may wake others, without a sleep in between.
        yield* Effect.replicateEffect(turn, 20)
      })
  }
}
