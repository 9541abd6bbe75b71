/**
 * The state of a Job: its pods by their phases, and the counts in its status.
 *
 * Each pod counts exactly once. A pod carries a finalizer until the status of the Job names its uid. Then the controller removes the
 * finalizer, and moves the uid to the counter.
 */
import { at, type JsonObject, list, number, objects, text } from "@homeostat/apiserver/model/Json"
import { finalizersOf, isDeleting, uidOf } from "@homeostat/apiserver/model/ObjectMeta"
import * as Indexes from "./Indexes.ts"
import { isActive, isTerminating, phaseOf } from "./ManagedPods.ts"
import { verdictOn } from "./PodFailurePolicy.ts"

/** The finalizer of pods that are not counted yet. */
export const tracking = "batch.kubernetes.io/job-tracking"

/** A Job and its pods. */
export interface JobState {
  readonly job: JsonObject
  readonly pods: ReadonlyArray<JsonObject>
  readonly active: ReadonlyArray<JsonObject>
  readonly terminating: number
  /** The uids in the status. These pods count, although no counter includes them yet. */
  readonly uncounted: { readonly succeeded: ReadonlyArray<string>; readonly failed: ReadonlyArray<string> }
  /** The finished pods that are not counted yet. */
  readonly newSucceeded: ReadonlyArray<JsonObject>
  readonly newFailed: ReadonlyArray<JsonObject>
  /** The total numbers of succeeded and failed pods. */
  readonly succeeded: number
  readonly failed: number
  /** The completed indexes; empty for a Job without indexes. */
  readonly completed: ReadonlySet<number>
}

/** Returns a number of the Job's spec. */
export const specified = (job: JsonObject, field: string): number | undefined => number(at(job, "spec", field))

/** Returns a number of the Job's status; default 0. */
export const counter = (job: JsonObject, field: string): number => number(at(job, "status", field)) ?? 0

/** Whether the pods of the Job have indexes. */
export const isIndexed = (job: JsonObject): boolean => at(job, "spec", "completionMode") === "Indexed"

/** Whether the Job is suspended. */
export const isSuspended = (job: JsonObject): boolean => at(job, "spec", "suspend") === true

/** Whether the Job replaces a pod only after its end. */
export const waitsForEnd = (job: JsonObject): boolean => at(job, "spec", "podReplacementPolicy") === "Failed"

/** Whether the Job is Complete or Failed. */
export const isFinished = (job: JsonObject): boolean =>
  objects(at(job, "status", "conditions")).some(
    ({ status, type }) => status === "True" && (type === "Complete" || type === "Failed")
  )

/** Whether a pod is not counted yet. */
export const isTracked = (pod: JsonObject): boolean => finalizersOf(pod).includes(tracking)

/** Whether a pod counts as failed. A pod that is being deleted counts as failed, unless the Job waits for its end. */
export const hasFailed = (pod: JsonObject, job: JsonObject): boolean =>
  phaseOf(pod) === "Failed" || (!waitsForEnd(job) && isDeleting(pod) && phaseOf(pod) !== "Succeeded")

/** Computes the state of a Job. */
export const stateOf = (job: JsonObject, pods: ReadonlyArray<JsonObject>): JobState => {
  const uids = (field: string) =>
    list(at(job, "status", "uncountedTerminatedPods", field)).map((uid) => text(uid) ?? "")
  const uncounted = { succeeded: uids("succeeded"), failed: uids("failed") }
  const completions = specified(job, "completions") ?? Number.MAX_SAFE_INTEGER
  const valid = (pod: JsonObject) =>
    isTracked(pod) && (!isIndexed(job) || Indexes.indexOf(pod, completions) !== undefined)
  const newSucceeded = pods.filter(
    (pod) => valid(pod) && phaseOf(pod) === "Succeeded" && !uncounted.succeeded.includes(uidOf(pod))
  )
  const newFailed = pods.filter((pod) => valid(pod) && hasFailed(pod, job) && !uncounted.failed.includes(uidOf(pod)))
  const before = Indexes.parse(text(at(job, "status", "completedIndexes")) ?? "", completions)
  const completed = new Set(isIndexed(job) ? [...before, ...Indexes.indexesOf(newSucceeded, completions)] : [])
  return {
    job,
    pods,
    active: pods.filter(isActive),
    terminating: pods.filter(isTerminating).length,
    uncounted,
    newSucceeded,
    newFailed,
    succeeded: isIndexed(job)
      ? completed.size
      : counter(job, "succeeded") + newSucceeded.length + uncounted.succeeded.length,
    failed:
      counter(job, "failed") + newFailed.filter((pod) => verdictOn(job, pod).counts).length + uncounted.failed.length,
    completed
  }
}
