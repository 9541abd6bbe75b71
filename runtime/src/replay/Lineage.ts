/** The fibers of a replay: which of its requests follow each other, and which are concurrent. */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Metric from "effect/Metric"
import * as Scheduler from "effect/Scheduler"

/** A fork: its number, and in which step the parent forked. */
interface Fork {
  readonly number: number
  readonly step: number
}

/** The place of a fiber: the forks that lead to it. */
type Path = ReadonlyArray<Fork>

/** The moment of a request: its fiber, and the number of forks before it. */
export interface Moment {
  readonly path: Path
  readonly forks: number
}

/** The fibers under one effect. */
export interface Lineage {
  /** Follows the forks of an effect. */
  readonly within: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /** The present moment of a fiber. */
  readonly momentOf: (fiber: Fiber.Fiber<unknown, unknown>) => Moment
}

/** A fiber that has taken a step. */
interface Seen {
  readonly path: Path
  steps: number
}

/** No fibers. */
export const make = (): Lineage => {
  let forks = 0
  const seen = new WeakMap<Fiber.Fiber<unknown, unknown>, Seen>()
  /** The place of a new fiber, until its first step. A fiber that no other one has forked has the place of the root. */
  let next: Path = []
  const seeing = (fiber: Fiber.Fiber<unknown, unknown>): Seen => {
    const known = seen.get(fiber) ?? { path: next, steps: 0 }
    seen.set(fiber, known)
    next = []
    return known
  }
  const watched = {
    // Effect calls this in the parent.
    recordFiberStart: () => {
      const parent = Fiber.getCurrent()
      if (parent === undefined) return
      const { path, steps } = seeing(parent)
      next = [...path, { number: ++forks, step: steps }]
    },
    recordFiberEnd: () => {}
  }
  /** The scheduler sees each step. A new fiber takes its first step at once, or as the next task. */
  const watching = (scheduler: Scheduler.Scheduler): Scheduler.Scheduler => ({
    executionMode: scheduler.executionMode,
    shouldYield: (fiber) => {
      seeing(fiber).steps++
      return scheduler.shouldYield(fiber)
    },
    makeDispatcher: () => {
      const dispatcher = scheduler.makeDispatcher()
      return {
        scheduleTask: (task, priority) => {
          const path = next
          next = []
          dispatcher.scheduleTask(() => {
            next = path
            task()
            next = []
          }, priority)
        },
        flush: () => dispatcher.flush()
      }
    }
  })
  return {
    within: (effect) =>
      effect.pipe(
        Effect.updateService(Scheduler.Scheduler, watching),
        Effect.provideService(Metric.FiberRuntimeMetrics, watched)
      ),
    momentOf: (fiber) => ({ path: seeing(fiber).path, forks })
  }
}

/**
 * Whether a moment waits for an earlier one: in the same fiber, in a fiber that waits for the other, or in one that was forked after the other.
 * Otherwise both are concurrent, and their order is by chance.
 */
export const follows = (later: Moment, earlier: Moment): boolean => {
  const at = later.path.findIndex((fork, index) => fork !== earlier.path[index])
  const fork = later.path[at]
  // The fiber of the later moment is the same, or has forked the other one.
  if (fork === undefined) return true
  // A parent that forks several fibers in one step waits for none of them in between.
  return fork.number > earlier.forks && fork.step !== earlier.path[at]?.step
}
