/**
 * The record of one reconcile: its triggers, its outcome and what follows. The worker passes it to every observer. Logs, metrics and
 * `why` are observers.
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Inspectable from "effect/Inspectable"
import * as Option from "effect/Option"
import { Undeclared } from "../cache/Undeclared.ts"
import { Conflict, Fenced, Transport } from "../client/ApiError.ts"
import type { CachedReads } from "../client/CachedReads.ts"
import type { Exchange } from "../client/Exchange.ts"
import type { KubernetesObject } from "../resource/KubernetesObject.ts"
import * as LogLevels from "../telemetry/LogLevels.ts"
import type { Span } from "../telemetry/Recording.ts"
import * as Secrecy from "../telemetry/Secrecy.ts"
import type { Change } from "./HotLoop.ts"
import type { Entries } from "./Memory.ts"
import { OwnerGone } from "./Ownership.ts"
import type { Correction } from "./Reconciliation.ts"
import type { Result } from "./Result.ts"
import { TerminalError } from "./TerminalError.ts"
import type { TriggerEvent } from "./Trigger.ts"

/** The controller's `timeout` passed before the reconcile ended; it was interrupted. */
export class ReconcileTimeout extends Data.TaggedError("ReconcileTimeout")<{ readonly after: Duration.Duration }> {
  override get message(): string {
    return `the reconcile took longer than ${Duration.format(this.after)}`
  }
}

/**
 * The outcome of an attempt, the first that applies:
 * - `Vanished`: the object is gone. Nothing ran, or the attempt ended when it found that out.
 * - `Interrupted`: the process or the leadership ended first.
 * - `Terminal`: the reconcile failed with a permanent error.
 * - `Unreachable`: the API server did not answer.
 * - `Failed`: any other error, a defect (`defect`) or a timeout.
 * - `RequeueAfter`, `Requeue`, `Done`: the reconcile succeeded with this result.
 */
export type Outcome = Data.TaggedEnum<{
  Vanished: {}
  Interrupted: {}
  Terminal: { readonly error: TerminalError }
  Unreachable: { readonly error: Transport }
  Failed: { readonly cause: Cause.Cause<unknown>; readonly error: unknown; readonly defect: boolean }
  RequeueAfter: { readonly after: Duration.Duration; readonly priority?: number | undefined }
  Requeue: { readonly priority?: number | undefined }
  Done: {}
}>

/** The constructors of {@link Outcome}, and `$match`. */
export const Outcome = Data.taggedEnum<Outcome>()

/** The next step: nothing until the next trigger, another run after a delay in ms, or no retry after a failure. */
export type Next =
  | { readonly _tag: "Wait" }
  | { readonly _tag: "Run"; readonly afterMillis: number }
  | { readonly _tag: "GiveUp" }

/** The record of one reconcile. Times are milliseconds of the Clock. */
export interface Attempt {
  /** Unique. Every log line of the attempt has it as `reconcileID`. */
  readonly id: string
  /** The name of the controller. */
  readonly controller: string
  /** The kind of the object: `WebApp`. */
  readonly kind: string
  /** The object: `namespace/name`, or the name alone for a cluster-scoped kind. */
  readonly key: string
  readonly uid: string | undefined
  readonly generation: number | undefined
  readonly resourceVersion: string | undefined
  /** The cached object when the attempt began, in its wire form; absent if it was gone. Do not keep it for long. */
  readonly object: KubernetesObject | undefined
  /** The priority in the queue: higher first, 0 for new changes. */
  readonly priority: number
  /** The newest triggers; `dropped` counts the older ones. */
  readonly triggers: ReadonlyArray<TriggerEvent>
  readonly dropped: number
  /** The dropped triggers that were not echoes of own writes for this object. */
  readonly droppedNews: number
  /** 1 for the first attempt after a success; each failure or requeue in a row adds 1. */
  readonly number: number
  /** Whether all attempts of the ten seconds before it failed. */
  readonly lasts?: boolean | undefined
  /** When the key became ready: at its first trigger, or at the end of a delay. */
  readonly queuedAt: number
  /** When a worker started the attempt. */
  readonly startedAt: number
  /** `startedAt` plus the duration of the run in monotonic time, so that a change of the machine's time does not matter. */
  readonly finishedAt: number
  readonly outcome: Outcome
  readonly next: Next
  /** Its requests to the API server without watches. If there are very many, the first reads and the first writes. */
  readonly exchanges: ReadonlyArray<Exchange>
  /** The number of all requests. */
  readonly requests: number
  /** Its reads of the cache. Do not keep them for long: they hold objects. */
  readonly reads: CachedReads
  /** The memory of the controller about the object when the attempt began; absent if the object was gone. */
  readonly memory: Entries | undefined
  /** The corrections of its children that it sent. */
  readonly corrections: ReadonlyArray<Correction>
  /** Hides the values of the Secrets that it has read or written. Use it for any text of an error that leaves the process. */
  readonly secrets: { readonly hide: (text: string) => string }
  /** The writes of `Owned` and `Status`. */
  readonly changes: ReadonlyArray<Change>
  /** Its trace; absent without tracing. */
  readonly root: Span | undefined
}

/** Receives every attempt. It cannot fail, and it should be fast, because the worker waits for it. */
export type Observer = (attempt: Attempt) => Effect.Effect<void>

/** The observers of all attempts. Default: the log. */
export const Observers = Context.Reference("@homeostat/runtime/Observers", {
  defaultValue: (): ReadonlyArray<Observer> => [log]
})

/**
 * Adds an observer of the attempts in an effect after all others, and one before them, which may add to the trace.
 *
 * @example
 * ```ts
 * const manager = Manager.launch([controller]).pipe(
 *   Attempt.observedBy(({ outcome }) => Effect.logDebug(`The attempt ended: ${outcome._tag}`))
 * )
 * ```
 */
export const observedBy =
  (last: Observer, ...first: ReadonlyArray<Observer>) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.updateContext(effect, (context: Context.Context<R>) =>
      Context.add(context, Observers, [...first, ...Context.get(context, Observers), last])
    )

/**
 * The outcome of a reconcile with this exit. `interrupted`: whether the worker was interrupted. A reconcile that interrupts itself
 * counts as failed, or it would not be retried. `server`: the API server of the manager. An attempt that another server did not answer
 * counts as failed.
 *
 * @internal
 */
export const outcomeOf = (
  exit: Exit.Exit<Result, unknown>,
  { interrupted, server }: { readonly interrupted: boolean; readonly server: string }
): Outcome =>
  Exit.match(exit, {
    onSuccess: (result) =>
      result._tag === "RequeueAfter"
        ? Outcome.RequeueAfter(result)
        : result._tag === "Requeue"
          ? Outcome.Requeue(result)
          : Outcome.Done(),
    onFailure: (cause) => {
      if (interrupted && Cause.hasInterruptsOnly(cause)) return Outcome.Interrupted()
      const failure = Cause.findErrorOption(cause)
      if (Option.isNone(failure)) {
        const error = Cause.squash(cause)
        return error instanceof Undeclared
          ? Outcome.Terminal({ error: new TerminalError({ message: error.message, cause: error }) })
          : Outcome.Failed({ cause, error, defect: true })
      }
      const error = failure.value
      if (error instanceof TerminalError) return Outcome.Terminal({ error })
      if (error instanceof OwnerGone) return Outcome.Vanished()
      if (error instanceof Fenced) return Outcome.Interrupted()
      if (error instanceof Transport && error.server === server) return Outcome.Unreachable({ error })
      return Outcome.Failed({ cause, error, defect: false })
    }
  })

/**
 * An error in one line, for a log or an Event. Fields with names of secrets are masked.
 *
 * @internal
 */
export const messageOf = (error: unknown): string =>
  error instanceof Error
    ? error.message || error.name
    : typeof error === "string"
      ? error
      : Inspectable.toStringUnknown(Secrecy.redacted(error), 0)

/** Whether the outcome is logged at debug level, as nearly every outcome is. */
const isQuiet = ({ _tag }: Outcome): boolean => _tag !== "Failed" && _tag !== "Terminal" && _tag !== "Interrupted"

/**
 * Logs one line per attempt: a failure as a warning with the next step, a permanent error or the end of the retries as an error.
 * Everything else is logged at debug level, also a first conflict.
 */
export const log: Observer = (attempt) => {
  const fiber = Fiber.getCurrent()
  // To build a line that is not logged costs a quarter of a no-op reconcile.
  return fiber !== undefined && isQuiet(attempt.outcome) && !LogLevels.isLogged(fiber, "Debug")
    ? Effect.void
    : write(attempt)
}

const write: Observer = (attempt) => {
  const took = `${Math.round(attempt.finishedAt - attempt.startedAt)} ms`
  const next =
    attempt.next._tag === "Run"
      ? `, again in ${Math.round(attempt.next.afterMillis)} ms`
      : attempt.next._tag === "GiveUp"
        ? ", given up until the next trigger: its retry schedule has ended"
        : ""
  const line = Outcome.$match(attempt.outcome, {
    Vanished: () => Effect.void,
    Interrupted: () => Effect.logInfo(`Reconcile interrupted after ${took}`),
    Terminal: ({ error }) => Effect.logError(`Reconcile failed permanently: ${attempt.secrets.hide(error.message)}`),
    Unreachable: ({ error }) =>
      Effect.logDebug(`Reconcile found no API server: ${attempt.secrets.hide(error.message)}`),
    Failed: ({ cause, error, defect }) => {
      const message = attempt.secrets.hide(messageOf(error))
      const text = `Reconcile ${defect ? "died" : "failed"}${next}: ${message}`
      // Another manager wrote in between. The conflict is worth a warning only if it repeats.
      if (error instanceof Conflict && attempt.number === 1 && attempt.next._tag === "Run") return Effect.logDebug(text)
      const line = attempt.next._tag === "GiveUp" || defect ? Effect.logError(text) : Effect.logWarning(text)
      // Only a defect needs its stack: the message of an error says what happened.
      if (!defect) return line
      return Effect.annotateLogs(line, {
        error: message,
        stacktrace: attempt.secrets.hide(Cause.pretty(cause))
      })
    },
    RequeueAfter: () => Effect.logDebug(`Reconciled in ${took}${next}`),
    Requeue: () => Effect.logDebug(`Reconciled in ${took}, requeued${next}`),
    Done: () => Effect.logDebug(`Reconciled in ${took}`)
  })
  return Effect.annotateLogs(line, {
    ...logFields(attempt),
    attempt: attempt.number
  })
}

/**
 * The fields of every log line about an attempt. The kind, namespace and name are in `object`, which costs less in each attempt.
 *
 * @internal
 */
export const logFields = ({ controller, id, key, kind, root }: Attempt): { readonly [field: string]: string } => ({
  controller,
  object: `${kind} ${key}`,
  reconcileID: id,
  ...(root !== undefined && { trace_id: root.traceId, span_id: root.spanId })
})
