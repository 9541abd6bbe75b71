/**
 * What there is of a Job: its pods by what has become of them, and how many of them are counted already.
 *
 * A pod is counted once, whatever happens to it: it carries a finalizer until the Job's status names its uid; then the
 * finalizer goes, and with it the uid, for the counter.
 */
import { at, type JsonObject, list, number, objects, text } from "@homeostat/apiserver/model/Json"
import { finalizersOf, isDeleting, uidOf } from "@homeostat/apiserver/model/ObjectMeta"
import * as Indexes from "./Indexes.ts"
import { isActive, isTerminating, phaseOf } from "./ManagedPods.ts"
import { verdictOn } from "./PodFailurePolicy.ts"

/** The finalizer by which pods are counted. */
export const tracking = "batch.kubernetes.io/job-tracking"

/** A Job and its pods. */
export interface JobState {
  readonly job: JsonObject
  readonly pods: ReadonlyArray<JsonObject>
  readonly active: ReadonlyArray<JsonObject>
  readonly terminating: number
  /** The uids that its status names: they count, though no counter says so yet. */
  readonly uncounted: { readonly succeeded: ReadonlyArray<string>; readonly failed: ReadonlyArray<string> }
  /** Those that have finished and are not counted. */
  readonly newSucceeded: ReadonlyArray<JsonObject>
  readonly newFailed: ReadonlyArray<JsonObject>
  /** How many have succeeded and failed in all. */
  readonly succeeded: number
  readonly failed: number
  /** The indexes that are done; of a Job that has no indexes: none. */
  readonly completed: ReadonlySet<number>
}

/** A number of its spec. */
export const specified = (job: JsonObject, field: string): number | undefined => number(at(job, "spec", field))

/** A number of its status; 0 where there is none. */
export const counter = (job: JsonObject, field: string): number => number(at(job, "status", field)) ?? 0

/** Whether its pods have indexes. */
export const isIndexed = (job: JsonObject): boolean => at(job, "spec", "completionMode") === "Indexed"

/** Whether it shall have no pods for now. */
export const isSuspended = (job: JsonObject): boolean => at(job, "spec", "suspend") === true

/** Whether a pod is only replaced when it has ended. */
export const waitsForEnd = (job: JsonObject): boolean => at(job, "spec", "podReplacementPolicy") === "Failed"

/** Whether it has come to its end, one way or the other. */
export const isFinished = (job: JsonObject): boolean =>
  objects(at(job, "status", "conditions")).some(
    ({ status, type }) => status === "True" && (type === "Complete" || type === "Failed")
  )

/** Whether a pod waits for being counted. */
export const isTracked = (pod: JsonObject): boolean => finalizersOf(pod).includes(tracking)

/** Whether a pod counts as failed. One that is deleted does, unless its end has to be waited for. */
export const hasFailed = (pod: JsonObject, job: JsonObject): boolean =>
  phaseOf(pod) === "Failed" || (!waitsForEnd(job) && isDeleting(pod) && phaseOf(pod) !== "Succeeded")

/** What there is of a Job. */
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
