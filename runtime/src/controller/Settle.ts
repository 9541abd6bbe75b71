/** Decides what follows an attempt: the key waits for a trigger, or the queue gets the key again after a delay. */
import * as Cause from "effect/Cause"
import type * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Cache from "../cache/Cache.ts"
import type { Informer } from "../cache/Cache.ts"
import * as ApiError from "../client/ApiError.ts"
import type { Ledger } from "../client/Exchange.ts"
import type { Backoffs } from "../queue/Backoff.ts"
import type { CpuUse } from "../queue/CpuUse.ts"
import type { Item, WorkQueue } from "../queue/WorkQueue.ts"
import type { KubernetesObject } from "../resource/KubernetesObject.ts"
import type * as Resource from "../resource/Resource.ts"
import * as Time from "../resource/Time.ts"
import type * as Recording from "../telemetry/Recording.ts"
import * as TraceParent from "../telemetry/TraceParent.ts"
import { messageOf, type Next, type Outcome, ReconcileTimeout } from "./Attempt.ts"
import type { Controller } from "./Controller.ts"
import type { Hold } from "./Hold.ts"
import type { Change, Fight } from "./HotLoop.ts"
import type { Memory } from "./Memory.ts"
import type { Reachability } from "./Reachability.ts"
import type { Correction } from "./Reconciliation.ts"
import * as Refused from "./Refused.ts"
import type { Timeouts } from "./Timeouts.ts"
import type { TriggerEvent } from "./Trigger.ts"

/** The state that the workers of one controller share. */
export interface Shared<R> {
  readonly controller: Controller<R>
  readonly queue: WorkQueue<TriggerEvent>
  /** The CPU time of attempts. */
  readonly use: CpuUse
  readonly informer: Informer
  /** The reads of its reconciles. */
  readonly cache: Cache.Service
  /** The kind of the controller, without decoding. */
  readonly wire: Resource.Any
  readonly backoffs: Backoffs
  readonly memory: Memory
  readonly timeouts: Timeouts
  /** Why the workers take no object; undefined for none. */
  readonly hold?: Hold | undefined
  /** The failing objects by key. */
  readonly trouble: Map<string, Trouble>
  /** The objects whose latest success asked for another run after a time, by key. */
  readonly timers: Map<string, Timer>
  /** The objects that may have left the selection with the finalizer, by key and without content; absent if none can. */
  readonly departed: Map<string, KubernetesObject> | undefined
}

/** A failing object. */
interface Trouble {
  readonly generation: number | undefined
  /** Whether its latest attempt did not reach the API server. */
  readonly isUnreached: boolean
  /** Its retry, if admission refused its latest attempt. */
  readonly refused: Refused.Retry | undefined
  /** When its first failure in a row ended, in monotonic ms. */
  readonly since: number | undefined
  /** The error of its latest attempt, if the attempt could not report it: it was interrupted. */
  readonly unreported: unknown
}

/** A requested run. */
interface Timer {
  readonly afterMillis: number
  /** In monotonic milliseconds. */
  readonly dueAt: number
}

/** The parts that belong to one attempt. */
export interface Started {
  readonly id: string
  readonly key: string
  readonly object: KubernetesObject | undefined
  /** The trouble of the object before the attempt. */
  readonly failing: Trouble | undefined
  /** Whether a failure of this attempt has lasted. */
  readonly lasts: boolean
  /** The fight that lasts. */
  readonly fight: Fight | undefined
  readonly root: Recording.Span | undefined
  readonly ledger: Ledger
  readonly corrections: Array<Correction>
  readonly changes: Array<Change>
  /** When the next attempt begins if this one fails with this error, in ms of the Clock; none if the retries end. */
  retry:
    | { readonly error: unknown; readonly at: Option.Option<number>; readonly refused: Refused.Retry | undefined }
    | undefined
}

/** Resets the back-off of an object. */
export const resetBackoff = <R>({ backoffs, trouble }: Shared<R>, key: string): void => {
  backoffs.forget(key)
  trouble.delete(key)
}

/** Resets the back-off and the timer of an object. */
export const forget = <R>(shared: Shared<R>, key: string): void => {
  resetBackoff(shared, key)
  shared.timers.delete(key)
  shared.departed?.delete(key)
}

/** The shortest time after which a timer repeats an attempt that failed permanently, in ms. */
const shortestTimer = 30_000

/** The Retry-After of the server that refused, in ms. */
const askedMillis = (error: unknown): number =>
  (ApiError.isApiError(error) ? ApiError.askedMillis(error) : undefined) ?? 0

/**
 * When the next attempt begins if this one fails with this error, in ms of the Clock; none if the retry schedule has ended. The attempt may
 * ask for it before it fails.
 */
export const retryOf = <R>(
  { backoffs, controller, trouble }: Shared<R>,
  started: Started,
  error: unknown
): Effect.Effect<Option.Option<number>> => {
  const { key, object } = started
  if (started.retry !== undefined && started.retry.error === error) return Effect.succeed(started.retry.at)
  return Effect.clockWith((clock) =>
    backoffs.next(key, error).pipe(
      Effect.catchCause((cause) =>
        Effect.as(
          Effect.logError(
            `The retry schedule of controller ${controller.name} threw: ${messageOf(Cause.squash(cause))}`
          ),
          Option.none<number>()
        )
      ),
      Effect.map((delay) => {
        const now = clock.currentTimeMillisUnsafe()
        const refused = Refused.retryOf(error, object, trouble.get(key)?.refused, now)
        const at = Option.map(delay, (millis) => Math.max(now + Math.max(millis, askedMillis(error)), refused?.at ?? 0))
        started.retry = { error, at, refused }
        return at
      })
    )
  )
}

/** Whether the reconcile was interrupted, and so could not report its failure. */
const isUnreported = ({ cause, error }: Extract<Outcome, { readonly _tag: "Failed" }>): boolean =>
  error instanceof ReconcileTimeout || Cause.hasInterruptsOnly(cause)

/** Adds the key to the queue again if the outcome needs it. */
export const settle = <R>(
  shared: Shared<R>,
  { key, priority }: Item<TriggerEvent>,
  outcome: Outcome,
  state: {
    readonly generation: number | undefined
    readonly started: Started
    readonly clock: Clock.Clock
    readonly reachability: Reachability["Service"]
  }
): Next | Effect.Effect<Next> => {
  const { queue, timers, trouble } = shared
  const { clock, generation, started } = state
  const fired = (kind: TriggerEvent["kind"]): TriggerEvent => ({
    kind,
    at: clock.currentTimeMillisUnsafe(),
    traceparent: started.root === undefined ? undefined : TraceParent.format(started.root)
  })
  /**
   * The key waits for a trigger, or for the time of the last `requeueAfter`: a periodic controller may succeed then. The write of the
   * attempt itself comes back as an event, which does not count.
   */
  const giveUp = (next: Next): Next => {
    resetBackoff(shared, key)
    const timer = timers.get(key)
    if (timer !== undefined) {
      const left = timer.dueAt - Time.monotonic(clock)
      const afterMillis = Math.max(left > 0 ? left : timer.afterMillis, shortestTimer)
      const trigger = { ...fired("requeue_after"), afterMillis }
      queue.addAfter(key, afterMillis, trigger, { priority, holdsEchoes: true })
      return { _tag: "Run", afterMillis }
    }
    queue.addAfter(key, Number.POSITIVE_INFINITY, fired("given_up"), { priority, holdsEchoes: true })
    return next
  }
  const again = (kind: TriggerEvent["kind"], input: unknown, at = priority): Effect.Effect<Next> =>
    retryOf(shared, started, input).pipe(
      Effect.map((retryAt): Next => {
        if (Option.isNone(retryAt)) return giveUp({ _tag: "GiveUp" })
        trouble.set(key, {
          generation,
          isUnreached: kind === "unreachable",
          refused: started.retry?.refused,
          since: kind === "requeue" ? undefined : (started.failing?.since ?? Time.monotonic(clock)),
          unreported: outcome._tag === "Failed" && isUnreported(outcome) ? input : undefined
        })
        const afterMillis = Math.max(retryAt.value - clock.currentTimeMillisUnsafe(), 0)
        queue.addAfter(key, afterMillis, fired(kind), { priority: at, holdsEchoes: true })
        return { _tag: "Run", afterMillis }
      })
    )

  switch (outcome._tag) {
    case "Done":
    case "Vanished":
      forget(shared, key)
      return { _tag: "Wait" }
    case "Interrupted":
      return { _tag: "Wait" }
    case "Terminal":
      return giveUp({ _tag: "Wait" })
    case "RequeueAfter": {
      const afterMillis = Duration.toMillis(outcome.after)
      if (afterMillis === 0 || afterMillis === Number.POSITIVE_INFINITY) {
        forget(shared, key)
        return { _tag: "Wait" }
      }
      resetBackoff(shared, key)
      timers.set(key, { afterMillis, dueAt: Time.monotonic(clock) + afterMillis })
      const trigger = { ...fired("requeue_after"), afterMillis }
      queue.addAfter(key, afterMillis, trigger, { priority: outcome.priority ?? priority })
      return { _tag: "Run", afterMillis }
    }
    case "Requeue":
      return again("requeue", "Requeue", outcome.priority)
    case "Failed":
      return again("retry", outcome.error)
    case "Unreachable": {
      const { lost } = state.reachability
      // The first failure does not count for the object. If the probe succeeds and the same object fails so again, its request may break
      // the connection: back off.
      if (trouble.get(key)?.isUnreached === true) return Effect.andThen(lost, again("unreachable", outcome.error))
      return Effect.map(lost, (): Next => {
        trouble.set(key, {
          generation,
          isUnreached: true,
          refused: undefined,
          since: undefined,
          unreported: undefined
        })
        queue.addAfter(key, 0, fired("unreachable"), { priority })
        return { _tag: "Run", afterMillis: 0 }
      })
    }
  }
}
