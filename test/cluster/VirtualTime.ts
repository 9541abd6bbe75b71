/**
 * Time that a test moves, for what runs in memory alone: days pass in seconds.
 *
 * TestClock waits some real milliseconds at every step, and moves timers with the clock when a test sets the clock. Here a step takes
 * some turns of the event loop. Timers run on by themselves, as on a machine whose clock its administrator sets.
 */
import { Clock, Duration, Effect, Fiber } from "effect"

/** A clock, and what moves it. */
export interface VirtualTime {
  readonly clock: Clock.Clock
  /** Lets time pass: each sleep ends at its time, and what follows from that happens before the next one ends. One caller at a time. */
  readonly pass: (duration: Duration.DurationInput) => Effect.Effect<void>
  /** Sets the clock. Epoch milliseconds. */
  readonly set: (millis: number) => Effect.Effect<void>
  /** Lets time pass until that has ended. */
  readonly during: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}

interface Sleeper {
  readonly at: number
  readonly wake: () => void
}

const turn = Effect.async<void>((resume) => {
  setImmediate(() => resume(Effect.void))
})

/** Microtasks, and what fibers that yielded do, are over after a turn; the others are for what that sets off. */
const rest = Effect.zipRight(turn, Effect.zipRight(turn, turn))

/** Time that begins then: epoch milliseconds. */
export const make = (begin = 0): VirtualTime => {
  /** Since the start, in milliseconds. */
  let passed = 0
  let offset = begin
  const sleepers = new Set<Sleeper>()
  const clock: Clock.Clock = {
    [Clock.ClockTypeId]: Clock.ClockTypeId,
    unsafeCurrentTimeMillis: () => offset + passed,
    unsafeCurrentTimeNanos: () => BigInt(begin + passed) * 1_000_000n,
    currentTimeMillis: Effect.sync(() => offset + passed),
    currentTimeNanos: Effect.sync(() => BigInt(begin + passed) * 1_000_000n),
    sleep: (duration) =>
      Effect.async((resume) => {
        // Whole milliseconds, as a timer's.
        const sleeper = { at: passed + Math.ceil(Duration.toMillis(duration)), wake: () => resume(Effect.void) }
        sleepers.add(sleeper)
        return Effect.sync(() => void sleepers.delete(sleeper))
      })
  }

  /** When the first of the sleeps ends that end by then. */
  const next = (by: number): number | undefined => {
    let first: number | undefined
    for (const { at } of sleepers) if (at <= by && (first === undefined || at < first)) first = at
    return first
  }

  const wake = (): void => {
    for (const sleeper of [...sleepers].filter(({ at }) => at <= passed)) {
      sleepers.delete(sleeper)
      sleeper.wake()
    }
  }

  const pass: VirtualTime["pass"] = (duration) =>
    Effect.gen(function* () {
      const until = passed + Duration.toMillis(duration)
      yield* rest
      for (let at = next(until); at !== undefined; at = next(until)) {
        passed = Math.max(passed, at)
        wake()
        yield* rest
      }
      passed = until
    })

  return {
    clock,
    pass,
    set: (millis) =>
      Effect.sync(() => {
        offset = millis - passed
      }),
    during: (effect) =>
      Effect.gen(function* () {
        const fiber = yield* Effect.fork(effect)
        yield* rest
        while (!fiber.unsafePoll()) yield* pass("100 millis")
        return yield* Fiber.join(fiber)
      })
  }
}
