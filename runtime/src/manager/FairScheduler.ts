/**
 * An Effect scheduler that gives the event loop its turn.
 *
 * Effect's default scheduler runs fibers in microtasks. Reconciles that find nothing to do never leave them, so timers, sockets and
 * probes wait until the work queue is empty.
 */
import * as Effect from "effect/Effect"
import * as FiberRef from "effect/FiberRef"
import * as Scheduler from "effect/Scheduler"
import type * as Scope from "effect/Scope"
import * as Time from "../resource/Time.ts"
import * as Metric from "../telemetry/Metric.ts"
import { Metrics } from "../telemetry/Metrics.ts"

/** How long fibers run before timers and sockets get their turn, in ms. */
export const turnMillis = 10

/** The event loop, and a monotonic time in ms. A test brings its own. */
export interface Host {
  readonly now: () => number
  /** Runs after the current task, before timers and sockets. */
  readonly microtask: (run: () => void) => void
  /** Runs after timers and sockets have had their turn. */
  readonly immediate: (run: () => void) => void
}

const machine: Host = {
  now: () => Time.monotonic(Time.machine),
  microtask: queueMicrotask,
  immediate: (run) => void setImmediate(run)
}

/**
 * Makes a scheduler that runs fibers in microtasks for {@link turnMillis}, and then waits for the event loop. Fibers that wait for
 * the event loop go on in the order in which they asked.
 */
export const make = ({ immediate, microtask, now }: Host = machine): Scheduler.Scheduler => {
  let began: number | undefined
  let waiting: Array<() => void> = []

  const isOver = (): boolean => {
    if (began !== undefined) return now() - began >= turnMillis
    began = now()
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
  const runnerOf = Scheduler.SchedulerRunner.cached((depth, drain) => {
    if (isOver()) waiting.push(() => drain(depth))
    else microtask(() => drain(depth))
  })
  return {
    shouldYield: (fiber) => Scheduler.defaultScheduler.shouldYield(fiber),
    scheduleTask: (task, priority, fiber) => runnerOf(fiber).scheduleTask(task, priority)
  }
}

/** The scheduler of this process, so that all its managers share their turns. */
export const scheduler = make()

/**
 * Runs an effect, and the fibers that it forks, with the fair scheduler. An effect that has a scheduler of its own keeps it. So
 * does one with another clock than the machine's, because a test that drives the time wants the same order in each run.
 */
export const within = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.flatMap(FiberRef.get(FiberRef.currentScheduler), (current) =>
    Effect.flatMap(Effect.clock, (clock) =>
      current === Scheduler.defaultScheduler && Time.isMachine(clock) ? Effect.withScheduler(effect, scheduler) : effect
    )
  )

const lagMillis = 100

/** Measures how late a timer of this process runs, until the scope closes. A test's time does not move by itself, so its timers are never late. */
export const lagMetered: Effect.Effect<void, never, Scope.Scope> = Effect.gen(function* () {
  const clock = yield* Effect.clock
  if (!Time.isMachine(clock)) return
  const lag = (yield* Metrics).histogram(Metric.eventLoopLag, {})
  const measure = Effect.suspend(() => {
    const due = Time.monotonic(clock) + lagMillis
    return Effect.map(Effect.sleep(lagMillis), () => lag.observe(Math.max(0, Time.monotonic(clock) - due) / 1000))
  })
  yield* Effect.forkScoped(Effect.forever(measure))
})
