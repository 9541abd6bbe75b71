/**
 * Virtual time that a test moves: days pass in seconds.
 *
 * Effect's own TestClock waits for the tasks of fibers at each step, but not for promises. Here, a step takes some turns of the event loop.
 * The clock is a TestClock, so `TestClock.adjust` moves it.
 */
import { Clock, Context, Duration, Effect, Fiber, Scheduler } from "effect"
import type { TestClock } from "effect/testing"
import * as Eventually from "./Eventually.ts"

/** A virtual clock, and the functions that move it. */
export interface VirtualTime {
  readonly clock: TestClock.TestClock
  /** Runs an effect in this time: its clock and scheduler are virtual, and `eventually` and `stays` move the clock. */
  readonly within: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /** Lets time pass. Each sleep ends when it is due, and its effects happen before the next sleep ends. */
  readonly pass: (duration: Duration.Input) => Effect.Effect<void>
  /** Moves the clock in one step, and ends all sleeps that are due. Their fibers continue when the caller waits. */
  readonly jump: (duration: Duration.Input) => Effect.Effect<void>
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
  /** Suspends all fibers before their next operation. Time passes for the others. */
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
  readonly leap: (duration: Duration.Input) => Effect.Effect<void>
  /** Leaps from sleep to sleep. Each sleep ends when it is due, and its effects happen before the next sleep ends. */
  readonly pass: (duration: Duration.Input) => Effect.Effect<void>
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
    sleep: (duration: Duration.Input, began?: (sleeper: Sleeper) => void, ended?: (sleeper: Sleeper) => void) =>
      Effect.callback<void>((resume) => {
        const end = (): void => {
          all.delete(sleeper)
          ended?.(sleeper)
        }
        const sleeper: Sleeper = {
          // Whole milliseconds, as in a timer.
          at: passed() + Math.ceil(Duration.toMillis(duration)),
          wake: () => {
            end()
            // The fiber continues after all sleeps that are due have ended.
            resume(Effect.yieldNow)
          }
        }
        all.add(sleeper)
        began?.(sleeper)
        return Effect.sync(end)
      })
  }
}

const makeClock = ({
  millis,
  monotonic,
  nanos,
  sleep
}: {
  readonly millis: () => number
  readonly nanos: () => bigint
  readonly monotonic: () => bigint
  readonly sleep: (duration: Duration.Duration) => Effect.Effect<void>
}): Clock.Clock => ({
  currentTimeMillisUnsafe: millis,
  currentTimeNanosUnsafe: nanos,
  monotonicTimeNanosUnsafe: monotonic,
  currentTimeMillis: Effect.sync(millis),
  currentTimeNanos: Effect.sync(nanos),
  monotonicTimeNanos: Effect.sync(monotonic),
  sleep
})

/** The clock of the machine. */
const realClock = Context.get(Context.empty(), Clock.Clock)

const nanosOf = (millis: number): bigint => BigInt(Math.round(millis * 1_000_000))

const turn = Effect.callback<void>((resume) => {
  setImmediate(() => resume(Effect.void))
})

/** The most microtasks in a row before the event loop gets a turn. */
const mostMicrotasks = 2048

/** The number of turns without work after which all fibers wait. A woken fiber may need another turn. */
const quietTurns = 3

/**
 * A scheduler that knows whether fibers have work. All fibers share one queue, and their tasks are microtasks: Effect's own scheduler runs
 * each task in a later turn of the event loop, and the clock could move before that turn.
 */
const makeScheduler = () => {
  let delayed = 0
  let depth = 0
  const mixed = new Scheduler.MixedScheduler("async", (drain) => {
    let isCancelled = false
    const run = (): void => {
      if (isCancelled) return
      const before = depth
      drain()
      // The last tasks have made no other tasks.
      if (depth === before) depth = 0
    }
    if (depth < mostMicrotasks) {
      depth++
      queueMicrotask(run)
    } else {
      delayed++
      setImmediate(() => {
        delayed--
        depth = 0
        run()
      })
    }
    return () => {
      isCancelled = true
    }
  })
  const dispatcher = mixed.makeDispatcher()
  const scheduler: Scheduler.Scheduler = {
    executionMode: mixed.executionMode,
    shouldYield: (fiber) => mixed.shouldYield(fiber),
    makeDispatcher: () => dispatcher
  }
  /** Returns when all fibers wait. */
  const rest = Effect.callback<void>((resume) => {
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

/**
 * A scheduler on top of another one. It keeps all tasks while it is suspended. A fiber that an answer or an interruption wakes without a
 * task yields before its first operation, and that makes a task.
 */
const makeGate = (scheduler: Scheduler.Scheduler) => {
  let kept: Array<() => void> | undefined
  const gated: Scheduler.Scheduler = {
    executionMode: scheduler.executionMode,
    shouldYield: (fiber) => kept !== undefined || scheduler.shouldYield(fiber),
    makeDispatcher: () => {
      const dispatcher = scheduler.makeDispatcher()
      return {
        scheduleTask: (task, priority) => {
          // A task may be due when the suspension begins.
          const run = () => (kept === undefined ? task() : void kept.push(schedule))
          const schedule = () => dispatcher.scheduleTask(run, priority)
          schedule()
        },
        flush: () => dispatcher.flush()
      }
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
  return { within: Effect.provideService(Scheduler.Scheduler, gated), suspend, resume }
}

const Sleeps = Context.Reference<() => ReadonlyArray<number>>("@homeostat/testkit/Sleeps", {
  defaultValue: () => () => []
})

/** The times at which the sleeps of the virtual clock end, in epoch milliseconds. Empty outside of virtual time. */
export const sleeps: Effect.Effect<ReadonlyArray<number>> = Effect.map(Sleeps, (all) => all())

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
    ...makeClock({
      millis: now,
      nanos: () => BigInt(begin) * 1_000_000n + nanosOf(offset - begin + passed),
      monotonic: () => nanosOf(passed),
      sleep: (duration) => (Duration.toMillis(duration) > 0 ? sleepers.sleep(duration) : Effect.yieldNow)
    }),
    adjust: pass,
    setTime: (millis) => Effect.suspend(() => (millis < now() ? set(millis) : pass(millis - now()))),
    withLive: Effect.provideService(Clock.Clock, realClock)
  }

  return {
    clock,
    within: (effect) =>
      effect.pipe(
        Effect.provideService(Eventually.pace, pass),
        Effect.provideService(Sleeps, () => Array.from(sleepers.all, ({ at }) => offset + at)),
        Effect.provideService(Scheduler.Scheduler, scheduler),
        Effect.provideService(Clock.Clock, clock)
      ),
    pass,
    jump: (duration) =>
      Effect.sync(() => {
        passed += Duration.toMillis(duration)
        sleepers.wake()
      }),
    set,
    during: (effect) =>
      Effect.gen(function* () {
        const fiber = yield* Effect.forkChild(effect)
        yield* rest
        while (!fiber.pollUnsafe()) yield* pass("100 millis")
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
 * import { Clock, Effect, Fiber } from "effect"
 *
 * live("an hour ends at once", () =>
 *   Effect.gen(function* () {
 *     const { clock, leap } = VirtualTime.leaping()
 *     const hour = yield* Effect.forkChild(Effect.provideService(Effect.sleep("1 hour"), Clock.Clock, clock))
 *     yield* Effect.yieldNow
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
  const began = realClock.monotonicTimeNanosUnsafe()
  let leapt = ahead
  const passed = (): number => Number(realClock.monotonicTimeNanosUnsafe() - began) / 1_000_000 + leapt
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
    clock: makeClock({
      millis: () => realClock.currentTimeMillisUnsafe() + leapt,
      nanos: () => realClock.currentTimeNanosUnsafe() + nanosOf(leapt),
      monotonic: () => realClock.monotonicTimeNanosUnsafe() + nanosOf(leapt),
      sleep: (duration) => sleepers.sleep(duration, arm, disarm)
    }),
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
    process: () => processOf(new Scheduler.MixedScheduler())
  }
}
