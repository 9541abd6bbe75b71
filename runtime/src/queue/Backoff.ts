/**
 * The retry delays of keys: one Effect Schedule, stepped for each key on its own, once per attempt that asks for a retry. It only
 * computes delays. The queue waits, without a fiber per key, so 100,000 failing objects cost 100,000 small records.
 *
 * Any Schedule works. Its input is the end of the run. A Schedule that reads the time (`elapsed`, `upTo`, `fixed`, `cron`) sees the
 * Clock at the first attempt of the key plus monotonic time. A change of the machine's time has no effect. When a Schedule ends, its
 * state is dropped, and the next failure of the key starts from the beginning.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as ScheduleDecision from "effect/ScheduleDecision"
import * as ScheduleIntervals from "effect/ScheduleIntervals"
import * as Time from "../resource/Time.ts"

/** The retry delays of one controller's keys. Holds a record per key between its first retry and `forget` (or the schedule's end). */
export interface Backoffs<in In = unknown> {
  /**
   * Counts an attempt of the key that ended with `input`, and returns the milliseconds until the next one: 0 or more,
   * perhaps a fraction, Infinity if the schedule says never. None: the schedule has ended, do not retry. Dies if one of
   * the schedule's own functions throws; the attempt then does not count.
   */
  readonly next: (key: string, input: In) => Effect.Effect<Option.Option<number>>
  /** Resets the key: its next failure is the first one. */
  readonly forget: (key: string) => void
  /** The number of attempts in a row that asked for a retry; 0 after `forget`. */
  readonly attempts: (key: string) => number
  /** The number of failing keys. */
  readonly size: () => number
  /** The most attempts in a row and the longest delay among failing keys. O(failing), for a scrape. */
  readonly worst: () => { readonly attempts: number; readonly delayMillis: number }
}

interface Progress {
  /** Belongs to the schedule; Effect types it `any`. */
  state: unknown
  attempts: number
  /** The input of the last attempt. */
  delayMillis: number
  /** The lead of the Clock's time over the monotonic one at the first attempt. */
  readonly ahead: number
}

const base = Duration.millis(5)
const cap = Duration.seconds(1000)

/**
 * 5 ms, doubled by every failure up to 1000 s, without an end, as in controller-runtime. It uses `unfold`, because `Schedule.exponential`
 * has no cap: its power of two overflows to an infinite delay at failure 1023.
 */
const schedule: Schedule.Schedule<Duration.Duration> = Schedule.delayedSchedule(
  Schedule.unfold(base, (delay) => Duration.min(Duration.times(delay, 2), cap))
)

export {
  /** 5 ms, doubled by every failure up to 1000 s, without an end. */
  schedule as default
}

/**
 * The schedule for each key on its own. The services of the schedule come from the context of this call.
 *
 * @internal
 */
export const make = <Out, In, R>(retry: Schedule.Schedule<Out, In, R>): Effect.Effect<Backoffs<In>, never, R> =>
  Effect.gen(function* () {
    const clock = yield* Effect.clock
    const context = yield* Effect.context<R>()
    const failing = new Map<string, Progress>()

    const next = (key: string, input: In): Effect.Effect<Option.Option<number>> =>
      Effect.suspend(() => {
        const passed = Time.monotonic(clock)
        const known = failing.get(key)
        const progress: Progress = known ?? {
          state: retry.initial,
          attempts: 0,
          delayMillis: 0,
          ahead: clock.unsafeCurrentTimeMillis() - passed
        }
        const now = progress.ahead + passed
        if (known === undefined) failing.set(key, progress)
        return Effect.map(Effect.provide(retry.step(now, input, progress.state), context), ([state, , decision]) => {
          if (ScheduleDecision.isDone(decision)) {
            if (failing.get(key) === progress) failing.delete(key)
            return Option.none()
          }
          // Changed in place, so that a `forget` during the step wins.
          progress.state = state
          progress.attempts++
          progress.delayMillis = Math.max(0, ScheduleIntervals.start(decision.intervals) - now)
          return Option.some(progress.delayMillis)
        })
      })

    return {
      next,
      forget: (key) => {
        failing.delete(key)
      },
      attempts: (key) => failing.get(key)?.attempts ?? 0,
      size: () => failing.size,
      worst: () => {
        let attempts = 0
        let delayMillis = 0
        for (const each of failing.values()) {
          attempts = Math.max(attempts, each.attempts)
          delayMillis = Math.max(delayMillis, each.delayMillis)
        }
        return { attempts, delayMillis }
      }
    }
  })
