/** Waits until the controllers of a plan have nothing more to do now. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Informer } from "../cache/Cache.ts"
import { type Attempt, messageOf, type Observer } from "../controller/Attempt.ts"
import type { Runner } from "../controller/Runner.ts"
import type { Endings, Reconcile } from "./Endings.ts"

/** A failing attempt is repeated this often, if its delay is short. */
const mostRetries = 4

/** A `Result.requeue` is repeated until its delay is long. With a back-off that does not grow, the rest is unknown after this number. */
const mostRequeues = 20

/** The longest delay of a retry that the plan waits for, and of a trigger in a plan, in ms. */
export const longestDelayMillis = 1000

/** How often to look, in ms: at first, and at last. A look costs time in proportion to the objects. */
const pauseMillis = 5
const longestPauseMillis = 100

/** How often in a row there must be nothing to do. */
const quietLooks = 3

/** The attempts of a plan. */
export interface Rest {
  readonly observe: Observer
  /** Waits until the runner works, or cannot, and returns each reason why it cannot. */
  readonly started: (runner: Runner) => Effect.Effect<ReadonlyArray<string>, never, Scope.Scope>
  /** Waits until these runners have nothing more to do now. */
  readonly reached: (runners: ReadonlyArray<Runner>) => Effect.Effect<void>
  /** The latest failures that no retry has ended, by reconcile. */
  readonly failures: () => ReadonlyArray<readonly [Reconcile, Failure]>
  /** The reconciles that wait for a requeue. */
  readonly waiting: () => ReadonlyArray<Reconcile>
}

/** The failure of a reconcile. */
export interface Failure {
  /** Without the secrets of the attempt. The plan hides other secrets, and then texts that look like secrets. */
  readonly message: string
  /** Whether the manager would not repeat the attempt before the next change. */
  readonly isFinal: boolean
}

const failureOf = ({ next, outcome, secrets }: Attempt): Failure | undefined => {
  switch (outcome._tag) {
    case "Terminal":
      return { message: secrets.hide(messageOf(outcome.error)), isFinal: true }
    case "Failed":
    case "Unreachable":
      return { message: secrets.hide(messageOf(outcome.error)), isFinal: next._tag === "GiveUp" }
    default:
      return undefined
  }
}

/** Whether the cache cannot follow the cluster, which no wait ends. */
const hindrance = ({ state }: Informer): string | undefined => {
  const { cause, problem } = state()
  return cause?.kind === "denied" || cause?.kind === "missing" || cause?.kind === "refused" ? problem : undefined
}

/** For the attempts of one plan. */
export const make = (endings: Endings): Rest => {
  const due = new Map<string, Reconcile>()
  const failures = new Map<string, readonly [Reconcile, Failure]>()

  const observe: Observer = (attempt) =>
    Effect.sync(() => {
      const { controller, key, kind, next, number, outcome } = attempt
      const id = `${controller} ${key}`
      const reconcile = { controller, kind, key }
      const failure = failureOf(attempt)
      if (failure === undefined) failures.delete(id)
      else failures.set(id, [reconcile, failure])
      const isSoon = next._tag === "Run" && next.afterMillis <= longestDelayMillis
      const isRequeued = isSoon && outcome._tag === "Requeue"
      if (isRequeued && number > mostRequeues)
        endings.end(reconcile, `it still asks for a requeue after ${number} attempts`)
      const isRetried = isSoon && number <= mostRetries && (outcome._tag === "Failed" || outcome._tag === "Unreachable")
      const isRepeated = (isRequeued || isRetried) && endings.reasonOf(reconcile) === undefined
      if (isRepeated) due.set(id, reconcile)
      else due.delete(id)
    })

  const isAtRest = (runners: ReadonlyArray<Runner>, now: number): boolean =>
    due.size === 0 &&
    runners.every(({ informers, intake, queue }) => {
      const current = queue()
      if (current._tag === "None" || intake.isMapping || intake.dueAt >= now) return false
      const { processing, ready } = current.value.snapshot()
      return ready === 0 && processing === 0 && informers.every(({ state }) => state().overlaid === 0)
    })

  return {
    observe,
    started: (runner) =>
      Effect.gen(function* () {
        const fiber = yield* Effect.forkScoped(runner.started)
        while (fiber.pollUnsafe() === undefined) {
          const reasons = [...new Set(runner.informers)].flatMap((informer) => hindrance(informer) ?? [])
          const isPending = runner.informers.some((each) => !each.state().synced && hindrance(each) === undefined)
          // All reasons at once, so that one change of the permissions is enough.
          if (reasons.length > 0 && !isPending) {
            fiber.interruptUnsafe()
            return reasons
          }
          yield* Effect.sleep(pauseMillis)
        }
        return []
      }),
    reached: (runners) =>
      Effect.gen(function* () {
        const clock = yield* Clock.Clock
        let pause = pauseMillis
        for (let quiet = 0; quiet < quietLooks; quiet++) {
          yield* Effect.sleep(quiet > 0 ? pauseMillis : pause)
          if (isAtRest(runners, clock.currentTimeMillisUnsafe())) continue
          quiet = -1
          pause = Math.min(longestPauseMillis, pause * 1.2)
        }
      }),
    failures: () => [...failures.values()],
    waiting: () => Array.from(due).flatMap(([id, reconcile]) => (failures.has(id) ? [] : [reconcile]))
  }
}
