/**
 * One reconcile, as a record: what woke it, what came of it, what is next. The worker makes one per run and hands it to every
 * observer; metrics, logs and the like are observers, so that the loop itself stays short.
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as FiberRef from "effect/FiberRef"
import * as Inspectable from "effect/Inspectable"
import * as LogLevel from "effect/LogLevel"
import * as Option from "effect/Option"
import { Undeclared } from "../cache/Undeclared.ts"
import { Conflict, Fenced, Transport } from "../client/ApiError.ts"
import type { Exchange } from "../client/Exchange.ts"
import type { KubernetesObject } from "../resource/KubernetesObject.ts"
import type { Span } from "../telemetry/Recording.ts"
import * as Secrecy from "../telemetry/Secrecy.ts"
import { OwnerGone } from "./Claim.ts"
import type { Change } from "./HotLoop.ts"
import type { Correction } from "./Reconciliation.ts"
import type { Result } from "./Result.ts"
import { TerminalError } from "./TerminalError.ts"
import type { Fired } from "./Trigger.ts"

/** The controller's `timeout` passed before the reconcile ended; it was interrupted. */
export class ReconcileTimeout extends Data.TaggedError("ReconcileTimeout")<{ readonly after: Duration.Duration }> {
  override get message(): string {
    return `the reconcile took longer than ${Duration.format(this.after)}`
  }
}

/**
 * What came of an attempt, the first that fits:
 * - `Vanished`: the object is gone: nothing ran, or the attempt ended where it found that out.
 * - `Interrupted`: the process or the leadership ended first: it was cut off, or a write of its was held back.
 * - `Terminal`: it failed with a permanent error.
 * - `Unreachable`: no API server answered.
 * - `Failed`: any other failure, a defect (`defect`) or a timeout.
 * - `RequeueAfter`, `Requeue`, `Done`: it succeeded, and this is what it asked for.
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

/** What follows: nothing until the next trigger, another run after some milliseconds, or no more although it failed. */
export type Next =
  | { readonly _tag: "Wait" }
  | { readonly _tag: "Run"; readonly afterMillis: number }
  | { readonly _tag: "GiveUp" }

/** The record of one reconcile. Times are milliseconds of the Clock. */
export interface Attempt {
  /** Unique; in every log line of it as `reconcileID`. */
  readonly id: string
  /** The name of the controller. */
  readonly controller: string
  /** The kind of the object: `WebApp`. */
  readonly kind: string
  /** The object: `namespace/name`, or its name alone where the kind is cluster-wide. */
  readonly key: string
  readonly uid: string | undefined
  readonly generation: number | undefined
  readonly resourceVersion: string | undefined
  /** The object as the cache had it when the attempt began, in its wire form; absent if it was gone. Not to be kept for long. */
  readonly object: KubernetesObject | undefined
  /** Its place in the queue: higher first, 0 for what has just changed. */
  readonly priority: number
  /** What woke it: the newest few, and how many more there were. */
  readonly triggers: ReadonlyArray<Fired>
  readonly dropped: number
  /** How many of the latter were not the echo of a write by the reconciles of this object. */
  readonly droppedNews: number
  /** 1 for the first after a success, counting up with each failure or requeue in a row. */
  readonly number: number
  /** When it became ready to run: at its first trigger, or at the end of a delay. */
  readonly queuedAt: number
  /** When a worker began with it. */
  readonly startedAt: number
  /** As much later, to fractions of a millisecond, as the run took: a machine's time that is set meanwhile changes nothing. */
  readonly finishedAt: number
  readonly outcome: Outcome
  readonly next: Next
  /** What it asked of the API server, watches excepted: of very many the first reads and the first writes. */
  readonly exchanges: ReadonlyArray<Exchange>
  /** How many they were in all. */
  readonly requests: number
  /** What it found to correct in its children, and sent. */
  readonly corrections: ReadonlyArray<Correction>
  /** What `Owned` and `Status` wrote. */
  readonly changes: ReadonlyArray<Change>
  /** Its trace, which ended with it; absent where nothing is traced. */
  readonly root: Span | undefined
}

/** Something that wants to know of every attempt. It can't fail, and should be quick: the worker waits for it. */
export type Observer = (attempt: Attempt) => Effect.Effect<void>

/** The observers of all attempts. By default: the log. */
export class Observers extends Context.Reference<Observers>()("@homeostat/runtime/Observers", {
  defaultValue: (): ReadonlyArray<Observer> => [log]
}) {}

/** Adds an observer of the attempts in an effect, after all others, and one before them, which may add something to the trace. */
export const observedBy =
  (last: Observer, ...first: ReadonlyArray<Observer>) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.mapInputContext(effect, (context: Context.Context<R>) =>
      Context.add(context, Observers, [...first, ...Context.get(context, Observers), last])
    )

/**
 * The outcome of a reconcile that ended so. `interrupted`: its worker was. A reconcile that interrupts itself has failed, and
 * would be forgotten if it were taken for one that the process cut off. `server`: the manager's API server; the attempt has failed
 * if another server did not answer.
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
      if (interrupted && Cause.isInterruptedOnly(cause)) return Outcome.Interrupted()
      const failure = Cause.failureOption(cause)
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

/** One line of an error, for a log or an event. What a value that is no Error has under names of secrets is not shown. */
export const messageOf = (error: unknown): string =>
  error instanceof Error
    ? error.message || error.name
    : typeof error === "string"
      ? error
      : Inspectable.toStringUnknown(Secrecy.redacted(error), 0)

/** Whether the line of an outcome is for debugging only. Nearly every attempt has such a line. */
const isQuiet = ({ _tag }: Outcome): boolean => _tag !== "Failed" && _tag !== "Terminal" && _tag !== "Interrupted"

/**
 * One log line per attempt: failures as warnings with what is next (a first conflict for debugging), terminal ones and
 * give-ups as errors, the rest for debugging.
 */
export const log: Observer = (attempt) => {
  const fiber = Option.getOrUndefined(Fiber.getCurrentFiber())
  const level = fiber?.getFiberRef(FiberRef.currentMinimumLogLevel)
  // A line that is not logged costs a quarter of a reconcile that has nothing to do.
  return level !== undefined && isQuiet(attempt.outcome) && LogLevel.greaterThan(level, LogLevel.Debug)
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
    Terminal: ({ error }) => Effect.logError(`Reconcile failed for good: ${error.message}`),
    Unreachable: ({ error }) => Effect.logDebug(`Reconcile found no API server: ${error.message}`),
    Failed: ({ cause, error, defect }) => {
      const text = `Reconcile ${defect ? "died" : "failed"}${next}: ${messageOf(error)}`
      // Somebody wrote in between: that is the guard at work, and worth a line only if it goes on.
      if (error instanceof Conflict && attempt.number === 1 && attempt.next._tag === "Run") return Effect.logDebug(text)
      const line = attempt.next._tag === "GiveUp" || defect ? Effect.logError(text) : Effect.logWarning(text)
      // A stack helps with a defect only: a failure is a value that says what happened.
      return defect ? Effect.annotateLogs(line, "cause", Cause.pretty(cause, { renderErrorCause: true })) : line
    },
    RequeueAfter: () => Effect.logDebug(`Reconciled in ${took}${next}`),
    Requeue: () => Effect.logDebug(`Reconciled in ${took}, not there yet${next}`),
    Done: () => Effect.logDebug(`Reconciled in ${took}`)
  })
  return Effect.annotateLogs(line, {
    controller: attempt.controller,
    object: `${attempt.kind} ${attempt.key}`,
    reconcileID: attempt.id,
    attempt: attempt.number,
    ...(attempt.root !== undefined && { trace_id: attempt.root.traceId, span_id: attempt.root.spanId })
  })
}
