/**
 * An Effect scheduler that yields to the event loop from time to time.
 *
 * Effect's default scheduler waits for a turn of the event loop at each fork and each yield, which costs more than a microtask. It lets
 * each fiber run for 2048 steps. Those of all workers could take seconds, in which timers, sockets and probes would wait.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Scheduler from "effect/Scheduler"
import type * as Scope from "effect/Scope"
import * as CpuAccount from "../controller/CpuAccount.ts"
import * as Time from "../resource/Time.ts"
import * as Metric from "../telemetry/Metric.ts"
import { Metrics } from "../telemetry/Metrics.ts"

/** How long fibers run before timers and sockets get a turn, in ms. */
export const turnMillis = 10

/** The steps of fibers between two looks at the time, which cost as much as some steps. */
const stepsPerLook = 128

/** The event loop, and a monotonic time in ms. Tests provide their own. */
export interface Host {
  readonly now: () => number
  /** Runs after the current task, before timers and sockets. */
  readonly microtask: (run: () => void) => void
  /** Runs after the next turn of timers and sockets. */
  readonly immediate: (run: () => void) => void
}

const machine: Host = {
  now: () => Time.monotonic(Time.machine),
  microtask: queueMicrotask,
  immediate: (run) => void setImmediate(run)
}

/** A scheduler that counts its turns. */
export interface FairScheduler extends Scheduler.Scheduler {
  /** The turns of the event loop in which a fiber ran. */
  readonly turns: () => number
  /** Calls the listener at the beginning of the next turn. Returns a function that forgets the listener. */
  readonly onTurn: (listener: () => void) => () => void
}

/**
 * Makes a scheduler that runs fibers in microtasks for {@link turnMillis}, and then yields to the event loop: a running fiber yields too.
 * Waiting fibers continue in the order in which they were scheduled.
 */
export const make = ({ immediate, microtask, now }: Host = machine): FairScheduler => {
  let began: number | undefined
  let waiting: Array<() => void> = []
  let turns = 0
  const listeners = new Set<() => void>()

  const isOver = (): boolean => {
    if (began !== undefined) return now() - began >= turnMillis
    began = now()
    turns++
    for (const listener of listeners) {
      listeners.delete(listener)
      listener()
    }
    immediate(nextTurn)
    return false
  }
  const nextTurn = (): void => {
    began = undefined
    const due = waiting
    waiting = []
    for (let at = 0; at < due.length; at++) {
      if (isOver()) {
        waiting = [...due.slice(at), ...waiting]
        return
      }
      due[at]?.()
    }
  }
  const mixed = new Scheduler.MixedScheduler("async", (drain) => {
    let isCancelled = false
    const run = (): void => {
      if (!isCancelled) drain()
    }
    if (isOver()) waiting.push(run)
    else microtask(run)
    return () => {
      isCancelled = true
    }
  })
  let steps = 0
  /** The fiber that runs. */
  let current: Fiber.Fiber<unknown, unknown> | undefined
  let isResting = true
  const rest = (): void => {
    isResting = true
    current = undefined
    CpuAccount.rest(now)
  }
  const switchTo = (fiber: Fiber.Fiber<unknown, unknown>): void => {
    current = fiber
    if (!CpuAccount.switchTo(fiber.context, now) || !isResting) return
    isResting = false
    immediate(rest)
  }
  return {
    executionMode: mixed.executionMode,
    shouldYield: (fiber) => {
      if (fiber !== current) switchTo(fiber)
      return mixed.shouldYield(fiber) || (++steps % stepsPerLook === 0 && isOver())
    },
    makeDispatcher: () => mixed.makeDispatcher(),
    turns: () => turns,
    onTurn: (listener) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    }
  }
}

/** Effect's own. */
const standard = Context.get(Context.empty(), Scheduler.Scheduler)

/** The scheduler of this process. All its managers share it, and so share the turns. */
export const scheduler = make()

/**
 * Runs an effect and its fibers with the fair scheduler. An effect with its own scheduler keeps it. So does an effect with a test
 * clock, because a test with virtual time needs the same order in each run.
 */
export const within = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.withFiber((fiber) =>
    fiber.cache.scheduler === standard && Time.isMachine(fiber.getRef(Clock.Clock))
      ? Effect.provideService(effect, Scheduler.Scheduler, scheduler)
      : effect
  )

/** The time between two measurements while timers are late, in ms. */
const lateMillis = 100

/** The longest time between two measurements, in ms. */
const calmMillis = 1000

/** A timer that is at most this late, in ms, is on time. */
const onTimeMillis = 5

/**
 * Measures how late timers run, and passes each delay in seconds to `observe`. While only the measurement itself has turns, it stops. The
 * next turn begins the next measurement, so that a process at rest does not wake up.
 *
 * @internal
 */
export const meter = (
  clock: Clock.Clock,
  { onTurn, turns }: Pick<FairScheduler, "onTurn" | "turns">,
  observe: (seconds: number) => void
): Effect.Effect<never> => {
  let pause = lateMillis
  const rest = Effect.callback<void>((resume) => {
    const forget = onTurn(() => resume(Effect.void))
    return Effect.sync(forget)
  })
  const measure = Effect.suspend(() => {
    const due = Time.monotonic(clock) + pause
    const before = turns()
    return Effect.flatMap(clock.sleep(Duration.millis(pause)), () => {
      const late = Math.max(0, Time.monotonic(clock) - due)
      observe(late / 1000)
      const isAtRest = turns() <= before + 1
      pause = isAtRest || late > onTimeMillis ? lateMillis : Math.min(2 * pause, calmMillis)
      return isAtRest ? rest : Effect.void
    })
  })
  return Effect.forever(measure)
}

/** Measures the delay of the timers of this process, until the scope closes. With a test clock or another scheduler, it measures nothing. */
export const lagMetered: Effect.Effect<void, never, Scope.Scope> = Effect.gen(function* () {
  const clock = yield* Clock.Clock
  if (!Time.isMachine(clock) || (yield* Scheduler.Scheduler) !== scheduler) return
  const lag = (yield* Metrics).histogram(Metric.eventLoopLag, {})
  yield* Effect.forkScoped(meter(clock, scheduler, (seconds) => lag.observe(seconds)))
})
