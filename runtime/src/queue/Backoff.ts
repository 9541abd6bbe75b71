/**
 * The retry delays of keys: one Effect Schedule, stepped for each key on its own, once per attempt that asks for a retry. It only
 * computes delays. The queue waits, without a fiber per key, so 100,000 failing objects cost 100,000 small records.
 *
 * Any Schedule works. Its input is the end of the run. A Schedule that reads the time (`during`, `upTo`, `fixed`, `cron`) sees the
 * Clock at the first attempt of the key plus monotonic time. A change of the machine's time has no effect. When a Schedule ends, its
 * state is dropped, and the next failure of the key starts from the beginning.
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Pull from "effect/Pull"
import * as Schedule from "effect/Schedule"
import * as Time from "../resource/Time.ts"

/** The retry delays of one controller's keys. Holds a record per key between its first retry and `forget` (or the schedule's end). */
export interface Backoffs<in In = unknown> {
  /**
   * Counts an attempt of the key that ended with `input`, and returns the milliseconds until the next one: 0 or more,
   * perhaps a fraction, Infinity if the schedule says never. None: the schedule has ended, do not retry. Dies if the
   * schedule fails or one of its functions throws; the next failure is then the first one.
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

type Step<In> = (now: number, input: In) => Pull.Pull<readonly [unknown, Duration.Duration], unknown, unknown>

interface Progress<In> {
  /** The state of the schedule; absent until its first step. */
  step: Step<In> | undefined
  attempts: number
  delayMillis: number
  /** The lead of the Clock's time over the monotonic one at the first attempt. */
  readonly ahead: number
}

const cap = Duration.seconds(1000)

/** 5 ms, doubled by every failure up to 1000 s, without an end, as in controller-runtime. */
const schedule: Schedule.Schedule<Duration.Duration> = Schedule.modifyDelay(
  Schedule.exponential(Duration.millis(5)),
  ({ duration }) => Effect.succeed(Duration.min(duration, cap))
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
export const make = <Out, In, E, R>(retry: Schedule.Schedule<Out, In, E, R>): Effect.Effect<Backoffs<In>, never, R> =>
  Effect.gen(function* () {
    const clock = yield* Clock.Clock
    const context = yield* Effect.context<R>()
    const failing = new Map<string, Progress<In>>()
    const start = Effect.provideContext(Schedule.toStep(retry), context)

    const stepOf = (progress: Progress<In>): Effect.Effect<Step<In>> =>
      progress.step !== undefined
        ? Effect.succeed(progress.step)
        : Effect.map(start, (step) => {
            const provided: Step<In> = (now, input) => Effect.provideContext(step(now, input), context)
            progress.step = provided
            return provided
          })

    const next = (key: string, input: In): Effect.Effect<Option.Option<number>> =>
      Effect.suspend(() => {
        const passed = Time.monotonic(clock)
        const known = failing.get(key)
        const progress: Progress<In> = known ?? {
          step: undefined,
          attempts: 0,
          delayMillis: 0,
          ahead: clock.currentTimeMillisUnsafe() - passed
        }
        if (known === undefined) failing.set(key, progress)
        return Pull.matchEffect(
          Effect.flatMap(stepOf(progress), (step) => step(progress.ahead + passed, input)),
          {
            onSuccess: ([, delay]) => {
              // Changed in place, so that a `forget` during the step wins.
              progress.attempts++
              progress.delayMillis = Duration.toMillis(delay)
              return Effect.succeed(Option.some(progress.delayMillis))
            },
            onFailure: (cause) => {
              if (failing.get(key) === progress) failing.delete(key)
              return Effect.die(Cause.squash(cause))
            },
            onDone: () => {
              if (failing.get(key) === progress) failing.delete(key)
              return Effect.succeed(Option.none())
            }
          }
        )
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
