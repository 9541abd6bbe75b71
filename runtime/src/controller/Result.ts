/** What a reconcile asks for when it succeeds. What it asks for when it fails is its controller's retry schedule. */
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"

/**
 * - `Done`: nothing until the next trigger; the object's retry schedule starts afresh.
 * - `Requeue`: again, when the retry schedule says.
 * - `RequeueAfter`: again after a time; the retry schedule starts afresh.
 */
export type Result = Data.TaggedEnum<{
  Done: {}
  Requeue: {}
  RequeueAfter: { readonly after: Duration.Duration }
}>

const constructors = Data.taggedEnum<Result>()

/** The world is as wanted: wait for the next trigger. */
export const done: Result = constructors.Done()

/** Not there yet, and nothing will tell when: try again by the retry schedule. */
export const requeue: Result = constructors.Requeue()

/** Look again after `duration`, whatever happens in between. */
export const requeueAfter = (duration: Duration.DurationInput): Result =>
  constructors.RequeueAfter({ after: Duration.decode(duration) })
