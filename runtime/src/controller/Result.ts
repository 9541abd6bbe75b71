/** The result of a successful reconcile. After a failure, the retry schedule of the controller decides. */
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as WorkQueue from "../queue/WorkQueue.ts"

/**
 * - `Done`: no run until the next trigger. The retry schedule of the object starts again from its first delay.
 * - `Requeue`: another run after the next delay of the retry schedule.
 * - `RequeueAfter`: another run after a time. The retry schedule starts again from its first delay. Zero is the same as `Done`.
 *
 * The next run has the given `priority`, or the priority of this run.
 */
export type Result = Data.TaggedEnum<{
  Done: {}
  Requeue: { readonly priority?: number | undefined }
  RequeueAfter: { readonly after: Duration.Duration; readonly priority?: number | undefined }
}>

/** A result for another run. */
export type Again = Exclude<Result, { readonly _tag: "Done" }>

const constructors = Data.taggedEnum<Result>()

/** The object is reconciled: wait for the next trigger. */
export const done: Result = constructors.Done()

/** The object is not reconciled yet, and no event will follow: run again by the retry schedule. */
export const requeue: Again = constructors.Requeue({})

/**
 * Runs again after `duration`, or at an earlier trigger, such as the event of the run's own write. Only the first event for each object
 * counts, so that a run may write each time. Zero or less means no other run, as in controller-runtime, and so does
 * Infinity. Throws a `RangeError` for the number NaN.
 *
 * @example
 * ```ts
 * return Result.requeueAfter("10 minutes")
 * ```
 */
export const requeueAfter = (duration: Duration.Input): Again => {
  // Duration turns NaN into zero.
  if (Number.isNaN(duration)) throw new RangeError("invalid duration: NaN (must be a number of milliseconds)")
  return constructors.RequeueAfter({ after: Duration.max(Duration.fromInputUnsafe(duration), Duration.zero) })
}

/**
 * The result with another run after this time at the latest, in ms.
 *
 * @internal
 */
export const within = (result: Result, millis: number): Result => {
  if (result._tag === "Requeue") return result
  const isEarlier =
    result._tag === "RequeueAfter" && !Duration.isZero(result.after) && Duration.toMillis(result.after) <= millis
  return isEarlier ? result : requeueAfter(Math.max(millis, 1))
}

/**
 * Whether a result asks for another run.
 *
 * @internal
 */
export const isAgain = (value: unknown): value is Again =>
  constructors.$is("Requeue")(value) || constructors.$is("RequeueAfter")(value)

/** The priority of initial lists and resyncs, below new changes. Use it for runs that may wait. */
export const low = WorkQueue.low

/**
 * The result with another priority: any finite number, higher first, 0 for new changes. A failure keeps the priority. Use few
 * different priorities, because the queue keeps a list for each.
 *
 * @example
 * ```ts
 * return Result.withPriority(Result.requeueAfter("1 hour"), Result.low)
 * ```
 */
export const withPriority = (result: Again, priority: number): Again => ({ ...result, priority })
