/**
 * Virtual time that a test moves: days pass in seconds.
 *
 * Effect's own TestClock waits some real milliseconds at each step. Here, a step takes some turns of the event loop. The clock is a
 * TestClock, so `TestClock.adjust` moves it.
 */
import { Chunk, Clock, Duration, Effect, Fiber, Scheduler, type TestClock } from "effect"
import * as Eventually from "./Eventually.ts"

/** A virtual clock, and the functions that move it. */
export interface VirtualTime {
  readonly clock: TestClock.TestClock
  /** Runs an effect in this time: its clock and scheduler are virtual, and `eventually` and `stays` move the clock. */
  readonly within: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /** Lets time pass. Each sleep ends when it is due, and its effects happen before the next sleep ends. */
  readonly pass: (duration: Duration.DurationInput) => Effect.Effect<void>
  /** Moves the clock in one step, and ends all sleeps that are due. Their fibers continue when the caller waits. */
  readonly jump: (duration: Duration.DurationInput) => Effect.Effect<void>
  /** Sets the clock as an administrator does, to epoch milliseconds. The remaining time of each sleep stays the same. */
  readonly set: (millis: number) => Effect.Effect<void>
  /** Lets time pass until the effect ends. */
  readonly during: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /** A process that the test can suspend. At first it runs. */
  readonly process: () => Process
}

/** Fibers that a test can suspend together, as SIGSTOP suspends a process. */
export interface Process {
  /** Runs an effect in this process. */
  readonly within: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /** Suspends all fibers. The fiber that runs now continues until it yields. Time passes for the others. */
  readonly suspend: () => void
  /** Resumes the fibers. */
  readonly resume: () => void
}

/** A clock that shows the real time plus its leaps. */
export interface LeapingTime {
  readonly clock: Clock.Clock
  /** The milliseconds by which the clock is ahead of the real time. */
  readonly ahead: () => number
  /** Moves the clock at once. Returns when every sleep that is due has ended and its fiber waits again. */
  readonly leap: (duration: Duration.DurationInput) => Effect.Effect<void>
  /** Leaps from sleep to sleep. Each sleep ends when it is due, and its effects happen before the next sleep ends. */
  readonly pass: (duration: Duration.DurationInput) => Effect.Effect<void>
  /** A process that the test can suspend. At first it runs. */
  readonly process: () => Process
}

interface Sleeper {
  /** The milliseconds since the start of the clock. */
  readonly at: number
  readonly wake: () => void
}

/** The sleeps of a clock that has been running for `passed` milliseconds. */
const makeSleepers = (passed: () => number) => {
  const all = new Set<Sleeper>()
  return {
    all,
    /** Ends the sleeps that are due, the earliest first. */
    wake: (): void => {
      const now = passed()
      for (const sleeper of [...all].filter(({ at }) => at <= now).sort((one, other) => one.at - other.at)) {
        sleeper.wake()
      }
    },
    sleep: (duration: Duration.DurationInput, began?: (sleeper: Sleeper) => void, ended?: (sleeper: Sleeper) => void) =>
      Effect.async<void>((resume) => {
        const end = (): void => {
          all.delete(sleeper)
          ended?.(sleeper)
        }
        const sleeper: Sleeper = {
          // Whole milliseconds, as in a timer.
          at: passed() + Math.ceil(Duration.toMillis(duration)),
          wake: () => {
            end()
            resume(Effect.void)
          }
        }
        all.add(sleeper)
        began?.(sleeper)
        return Effect.sync(end)
      })
  }
}

const makeClock = (
  millis: () => number,
  nanos: () => bigint,
  sleep: (duration: Duration.Duration) => Effect.Effect<void>
): Clock.Clock => ({
  [Clock.ClockTypeId]: Clock.ClockTypeId,
  unsafeCurrentTimeMillis: millis,
  unsafeCurrentTimeNanos: nanos,
  currentTimeMillis: Effect.sync(millis),
  currentTimeNanos: Effect.sync(nanos),
  sleep
})

const turn = Effect.async<void>((resume) => {
  setImmediate(() => resume(Effect.void))
})

/** The most microtasks in a row before the event loop gets a turn, as in Effect's scheduler. */
const mostMicrotasks = 2048

/** The number of turns without work after which all fibers wait. A woken fiber may need another turn. */
const quietTurns = 3

/**
 * A scheduler that knows whether fibers have work. Effect's own scheduler continues long work by a timer, and the clock could move
 * before that timer.
 */
const makeScheduler = () => {
  let delayed = 0
  const runnerOf = Scheduler.SchedulerRunner.cached((depth, drain) => {
    if (depth < mostMicrotasks) return queueMicrotask(() => drain(depth + 1))
    delayed++
    setImmediate(() => {
      delayed--
      drain(0)
    })
  })
  const scheduler: Scheduler.Scheduler = {
    shouldYield: (fiber) => Scheduler.defaultScheduler.shouldYield(fiber),
    scheduleTask: (task, priority, fiber) => runnerOf(fiber).scheduleTask(task, priority)
  }
  /** Returns when all fibers wait. */
  const rest = Effect.async<void>((resume) => {
    let quiet = 0
    const look = (): void => {
      quiet = delayed === 0 ? quiet + 1 : 0
      if (quiet < quietTurns) setImmediate(look)
      else resume(Effect.void)
    }
    setImmediate(look)
  })
  return { scheduler, rest }
}

/** A scheduler on top of another one. It keeps all tasks while it is suspended. */
const makeGate = (scheduler: Scheduler.Scheduler) => {
  let kept: Array<() => void> | undefined
  const gated: Scheduler.Scheduler = {
    shouldYield: (fiber) => scheduler.shouldYield(fiber),
    scheduleTask: (task, priority, fiber) => {
      // A task may be due when the suspension begins.
      const run = () => (kept === undefined ? task() : void kept.push(schedule))
      const schedule = () => scheduler.scheduleTask(run, priority, fiber)
      schedule()
    }
  }
  return {
    gated,
    suspend: () => {
      kept ??= []
    },
    resume: () => {
      const due = kept ?? []
      kept = undefined
      for (const schedule of due) schedule()
    }
  }
}

const processOf = (scheduler: Scheduler.Scheduler): Process => {
  const { gated, resume, suspend } = makeGate(scheduler)
  return { within: Effect.withScheduler(gated), suspend, resume }
}

/**
 * Makes a virtual clock that starts at `begin`, in epoch milliseconds.
 *
 * @example
 * ```ts
 * import { expect } from "bun:test"
 * import { live } from "@homeostat/testkit/Test"
 * import * as VirtualTime from "@homeostat/testkit/VirtualTime"
 * import { Clock, Effect } from "effect"
 *
 * live("a sleep of a day takes no time", () => {
 *   const time = VirtualTime.make(Date.parse("2026-11-20T00:00:00Z"))
 *   return time.within(
 *     Effect.gen(function* () {
 *       yield* time.during(Effect.sleep("1 day"))
 *       expect(yield* Clock.currentTimeMillis).toBeGreaterThanOrEqual(Date.parse("2026-11-21T00:00:00Z"))
 *     })
 *   )
 * })
 * ```
 */
export const make = (begin = 0): VirtualTime => {
  /** The milliseconds since the start. */
  let passed = 0
  let offset = begin
  const { rest, scheduler } = makeScheduler()
  const sleepers = makeSleepers(() => passed)

  const now = (): number => offset + passed
  const nanos = (): bigint => BigInt(begin) * 1_000_000n + BigInt(Math.round(passed * 1_000_000))

  /** The time of the first sleep that is due by then; undefined without one. */
  const next = (by: number): number | undefined => {
    let first: number | undefined
    for (const { at } of sleepers.all) if (at <= by && (first === undefined || at < first)) first = at
    return first
  }

  const pass: VirtualTime["pass"] = (duration) =>
    Effect.gen(function* () {
      const until = passed + Duration.toMillis(duration)
      yield* rest
      for (let at = next(until); at !== undefined; at = next(until)) {
        passed = Math.max(passed, at)
        sleepers.wake()
        yield* rest
      }
      // Another fiber may have moved the time further.
      passed = Math.max(passed, until)
    })

  const set: VirtualTime["set"] = (millis) =>
    Effect.sync(() => {
      offset = millis - passed
    })

  const clock: TestClock.TestClock = {
    ...makeClock(now, nanos, (duration) =>
      Duration.toMillis(duration) > 0 ? sleepers.sleep(duration) : Effect.yieldNow()
    ),
    adjust: pass,
    adjustWith: (duration) => (effect) => Effect.zipLeft(effect, pass(duration), { concurrent: true }),
    save: Effect.sync(() => set(now())),
    setTime: (millis) => Effect.suspend(() => (millis < now() ? set(millis) : pass(millis - now()))),
    sleeps: Effect.sync(() => Chunk.fromIterable(Array.from(sleepers.all, ({ at }) => offset + at)))
  }

  return {
    clock,
    within: (effect) =>
      effect.pipe(Effect.locally(Eventually.pace, pass), Effect.withScheduler(scheduler), Effect.withClock(clock)),
    pass,
    jump: (duration) =>
      Effect.sync(() => {
        passed += Duration.toMillis(duration)
        sleepers.wake()
      }),
    set,
    during: (effect) =>
      Effect.gen(function* () {
        const fiber = yield* Effect.fork(effect)
        yield* rest
        while (!fiber.unsafePoll()) yield* pass("100 millis")
        return yield* Fiber.join(fiber)
      }),
    process: () => processOf(scheduler)
  }
}

/** The longest delay of a timer, in milliseconds. */
const longestMillis = 2 ** 31 - 1

/**
 * Makes a clock for real connections. It shows the real time, and a test can move it forward.
 *
 * @param ahead the milliseconds by which it starts ahead of the real time; default: 0
 * @param calm an effect that `pass` waits for before each leap, such as the responses to requests; default: none
 *
 * @example
 * ```ts
 * import { live } from "@homeostat/testkit/Test"
 * import * as VirtualTime from "@homeostat/testkit/VirtualTime"
 * import { Effect, Fiber } from "effect"
 *
 * live("an hour ends at once", () =>
 *   Effect.gen(function* () {
 *     const { clock, leap } = VirtualTime.leaping()
 *     const hour = yield* Effect.fork(Effect.withClock(Effect.sleep("1 hour"), clock))
 *     yield* Effect.yieldNow()
 *     yield* leap("1 hour")
 *     yield* Fiber.join(hour)
 *   })
 * )
 * ```
 */
export const leaping = ({
  ahead = 0,
  calm = Effect.void
}: {
  readonly ahead?: number | undefined
  readonly calm?: Effect.Effect<void> | undefined
} = {}): LeapingTime => {
  const real = Clock.make()
  const began = real.unsafeCurrentTimeNanos()
  let leapt = ahead
  const passed = (): number => Number(real.unsafeCurrentTimeNanos() - began) / 1_000_000 + leapt
  const sleepers = makeSleepers(passed)
  const timers = new Map<Sleeper, Timer | undefined>()
  const disarm = (sleeper: Sleeper): void => {
    clearTimeout(timers.get(sleeper))
    timers.delete(sleeper)
  }
  const arm = (sleeper: Sleeper): void => {
    disarm(sleeper)
    const left = Math.max(0, sleeper.at - passed())
    timers.set(sleeper, left > longestMillis ? undefined : setTimeout(sleeper.wake, left))
  }
  const leap: LeapingTime["leap"] = (duration) =>
    Effect.gen(function* () {
      leapt += Duration.toMillis(duration)
      const by = passed()
      for (const sleeper of sleepers.all) arm(sleeper)
      while ([...sleepers.all].some(({ at }) => at <= by)) yield* turn
      // A fiber that wakes may wake others without a sleep.
      yield* Effect.replicateEffect(turn, 20)
    })
  return {
    clock: makeClock(
      () => real.unsafeCurrentTimeMillis() + leapt,
      () => real.unsafeCurrentTimeNanos() + BigInt(Math.round(leapt * 1_000_000)),
      (duration) => sleepers.sleep(duration, arm, disarm)
    ),
    ahead: () => leapt,
    leap,
    pass: (duration) =>
      Effect.gen(function* () {
        const end = leapt + Duration.toMillis(duration)
        yield* calm
        while (leapt < end) {
          const next = Math.min(...Array.from(sleepers.all, ({ at }) => at))
          yield* leap(Math.min(end - leapt, Math.max(1, Math.ceil(next - passed()))))
          yield* calm
        }
      }),
    process: () => processOf(Scheduler.defaultScheduler)
  }
}
