/** What a reconcile asks for when it succeeds. What it asks for when it fails is its controller's retry schedule. */
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as WorkQueue from "../queue/WorkQueue.ts"

/**
 * - `Done`: nothing until the next trigger; the object's retry schedule starts again from its first delay.
 * - `Requeue`: again, when the retry schedule says.
 * - `RequeueAfter`: again after a time; the retry schedule starts again from its first delay. Zero is the same as `Done`.
 *
 * The next run has the `priority` that is given, or else that of this one.
 */
export type Result = Data.TaggedEnum<{
  Done: {}
  Requeue: { readonly priority?: number | undefined }
  RequeueAfter: { readonly after: Duration.Duration; readonly priority?: number | undefined }
}>

/** A result that asks for another run. */
export type Again = Exclude<Result, { readonly _tag: "Done" }>

const constructors = Data.taggedEnum<Result>()

/** The world is as wanted: wait for the next trigger. */
export const done: Result = constructors.Done()

/** Not there yet, and nothing will tell when: try again by the retry schedule. */
export const requeue: Again = constructors.Requeue({})

/**
 * Runs again after `duration`, whatever happens in between. Zero or less asks for no other run, as in controller-runtime: a time that
 * has passed is often the result of a subtraction. Throws a `RangeError` for NaN.
 */
export const requeueAfter = (duration: Duration.DurationInput): Again => {
  // Duration.decode makes zero of NaN.
  if (Number.isNaN(duration)) throw new RangeError("invalid duration: NaN (must be a number of milliseconds)")
  return constructors.RequeueAfter({ after: Duration.decode(duration) })
}

/** Whether it is a result that asks for another run. */
export const isAgain = (value: unknown): value is Again =>
  constructors.$is("Requeue")(value) || constructors.$is("RequeueAfter")(value)

/** The priority of initial lists and resyncs: whatever has just changed goes first. For looks that may wait. */
export const low = WorkQueue.low

/**
 * The same at another priority: any finite number, higher first, 0 for what has just changed. A failure keeps it. Few different
 * ones should be used, as each is a line of its own in the queue.
 */
export const withPriority = (result: Again, priority: number): Again => Data.struct({ ...result, priority })
