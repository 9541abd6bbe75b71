/**
 * Whether a Job has succeeded or failed, by its pods, its back-off limit or its deadline.
 *
 * The status reports an end in two steps. First the outcome is certain (SuccessCriteriaMet, FailureTarget). When no pod is left, the Job
 * has finished (Complete, Failed).
 */

import { at, type JsonObject, number, objects } from "@homeostat/apiserver/model/Json"
import { millisOf } from "@homeostat/apiserver/model/ObjectMeta"
import { timestamp } from "@homeostat/apiserver/model/Timestamp"
import { counter, hasFailed, isSuspended, type JobState, specified } from "./JobState.ts"
import { phaseOf } from "./ManagedPods.ts"
import { verdictOn } from "./PodFailurePolicy.ts"
import * as Conditions from "./WorkloadConditions.ts"

/** Returns a condition of a Job with `now` as its times. */
export const condition = (type: string, reason: string, message: string, now: number, status = "True"): JsonObject => ({
  type,
  status,
  lastProbeTime: timestamp(now),
  lastTransitionTime: timestamp(now),
  reason,
  message
})

/** The conditions of a Job. */
export const conditionsOf = (job: JsonObject): Conditions.Conditions => objects(at(job, "status", "conditions"))

/** Returns the outcome that is already certain; undefined if it is open. */
export const decided = (job: JsonObject): JsonObject | undefined =>
  ["SuccessCriteriaMet", "FailureTarget"]
    .map((type) => Conditions.find(conditionsOf(job), type))
    .find((found) => found?.status === "True")

/** Returns the failure from the pods or the deadline; undefined if the Job has not failed. */
export const failure = (state: JobState, now: number): JsonObject | undefined => {
  const { job, pods } = state
  const fails = pods
    .filter((pod) => hasFailed(pod, job))
    .map((pod) => verdictOn(job, pod).fails)
    .find((message) => message !== undefined)
  if (fails !== undefined) return condition("FailureTarget", "PodFailurePolicy", fails, now)
  if (state.failed > backoffLimit(job) || hasRestartedTooOften(state)) {
    return condition("FailureTarget", "BackoffLimitExceeded", "Job has reached the specified backoff limit", now)
  }
  if (untilDeadline(job, now) === 0) {
    return condition("FailureTarget", "DeadlineExceeded", "Job was active longer than specified deadline", now)
  }
  return undefined
}

const backoffLimit = (job: JsonObject): number => specified(job, "backoffLimit") ?? 6

/** Restarts of containers count as failures, too. */
const hasRestartedTooOften = ({ job, pods }: JobState): boolean => {
  if (at(job, "spec", "template", "spec", "restartPolicy") !== "OnFailure") return false
  const restarts = pods
    .filter((pod) => ["Running", "Pending"].includes(phaseOf(pod)))
    .flatMap((pod) => [
      ...objects(at(pod, "status", "initContainerStatuses")),
      ...objects(at(pod, "status", "containerStatuses"))
    ])
    .reduce((sum, { restartCount }) => sum + (number(restartCount) ?? 0), 0)
  return backoffLimit(job) === 0 ? restarts > 0 : restarts >= backoffLimit(job)
}

/** Returns the milliseconds until the deadline; undefined if the Job has no deadline or is suspended. */
export const untilDeadline = (job: JsonObject, now: number): number | undefined => {
  const seconds = specified(job, "activeDeadlineSeconds")
  if (seconds === undefined || isSuspended(job)) return undefined
  const start = millisOf(at(job, "status", "startTime")) ?? now
  return Math.max(0, start + seconds * 1000 - now)
}

/** Returns the success, when enough pods have succeeded and no pod is active; undefined otherwise. */
export const success = ({ job, succeeded }: JobState, active: number, now: number): JsonObject | undefined => {
  const isReached = succeeded >= (specified(job, "completions") ?? 1)
  return isReached && active === 0
    ? condition("SuccessCriteriaMet", "CompletionsReached", "Reached expected number of succeeded pods", now)
    : undefined
}

/** Returns the condition Complete or Failed for an outcome. */
export const end = ({ message, reason, type }: JsonObject, now: number): JsonObject =>
  condition(type === "FailureTarget" ? "Failed" : "Complete", String(reason), String(message), now)

/** Returns the Event of the end. */
export const event = (job: JsonObject, ended: JsonObject) => ({
  verb: "record" as const,
  about: job,
  ...(ended.type === "Complete"
    ? { type: "Normal" as const, reason: "Completed", message: "Job completed" }
    : { type: "Warning" as const, reason: String(ended.reason), message: String(ended.message) })
})

/** Whether more pods have succeeded than `completions`. */
export const hasTooMany = (job: JsonObject): boolean =>
  counter(job, "succeeded") > (specified(job, "completions") ?? Number.MAX_SAFE_INTEGER)
