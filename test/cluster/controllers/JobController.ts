/**
 * Jobs: run pods until enough of them have succeeded, or too many have failed.
 *
 * A pass creates or deletes pods. It writes the status, which names the finished pods, and then removes their finalizers. The next pass
 * counts these pods. It reports the end when no pod is left.
 *
 * Not supported, because no program on this server needs them: `successPolicy`, `backoffLimitPerIndex` and `FailIndex`.
 */

import { at, equal, type Json, type JsonObject, object, text } from "@homeostat/apiserver/model/Json"
import { isDeleting, keyOfObject, ofKey, uidOf } from "@homeostat/apiserver/model/ObjectMeta"
import { timestamp } from "@homeostat/apiserver/model/Timestamp"
import { ofLabelSelector } from "@homeostat/apiserver/storage/LabelSelector"
import type { Change } from "@homeostat/apiserver/storage/Store"
import { type BuiltInController, nothing, type Pass, type Snapshot, type Write } from "./BuiltInController.ts"
import { claim } from "./Claim.ts"
import * as Claimants from "./Claimants.ts"
import * as Indexes from "./Indexes.ts"
import * as JobBackoff from "./JobBackoff.ts"
import * as JobOutcome from "./JobOutcome.ts"
import * as JobPods from "./JobPods.ts"
import {
  counter,
  hasFailed,
  isFinished,
  isIndexed,
  isSuspended,
  isTracked,
  type JobState,
  specified,
  stateOf,
  tracking
} from "./JobState.ts"
import { phaseOf } from "./ManagedPods.ts"
import { verdictOn } from "./PodFailurePolicy.ts"
import * as Storages from "./Storages.ts"
import * as Conditions from "./WorkloadConditions.ts"

const reconcile = (snapshot: Snapshot, key: string, now: number, memory: Json | undefined): Pass => {
  const stored = snapshot.get(Storages.jobs, ...ofKey(key))
  const manager = text(at(stored, "spec", "managedBy")) ?? "kubernetes.io/job-controller"
  if (stored === undefined || isFinished(stored) || manager !== "kubernetes.io/job-controller") return nothing
  const selector = ofLabelSelector(at(stored, "spec", "selector"))
  const claimed = claim(snapshot, Storages.pods, stored, selector, tracking)
  if (claimed.patches.length > 0) return { writes: claimed.patches, memory }
  const state = stateOf(started(stored, now), claimed.objects)
  const before = JobBackoff.remembered(memory)
  const backoff = JobBackoff.after(before, state.newSucceeded, state.newFailed)
  const known = JobOutcome.decided(state.job) ?? JobOutcome.failure(state, now)
  const managed =
    known !== undefined
      ? JobPods.deleted(state, state.active, JobPods.remove)
      : isDeleting(state.job)
        ? JobPods.deleted(state, [], JobPods.remove)
        : JobPods.managed(state, backoff, now)
  const outcome = known ?? JobOutcome.success(state, managed.active, now)
  const suspension = outcome === undefined && !isDeleting(state.job) ? suspended(state.job, now) : undefined
  const tracked = state.pods.filter((pod) => isTracked(pod) && canGo(state, pod, outcome))
  const status = statusOf(suspension?.job ?? state.job, state, managed, tracked, outcome)
  const jobWithStatus = { ...state.job, status }
  const waits = [managed.again, JobOutcome.untilDeadline(jobWithStatus, now)].filter(
    (wait) => wait !== undefined && wait > 0
  )
  const again = outcome !== undefined || waits.length === 0 ? undefined : Math.min(...waits.map(Number))
  // The outcome must be stored before the pods that cause it are released.
  if (!equal(status, stored.status)) {
    // The start is reported even if the creation of the pods fails, because the deadline counts from the start.
    const unmanned = statusOf(state.job, state, { ...managed, active: state.active.length }, [], undefined)
    const start: ReadonlyArray<Write> =
      at(stored, "status", "startTime") === undefined
        ? [{ verb: "update", subresource: "status", object: { ...state.job, status: unmanned } }]
        : []
    return {
      writes: [
        ...managed.writes.map((write) => orElse(write, start)),
        ...(suspension?.events ?? []),
        { verb: "update", subresource: "status", object: jobWithStatus },
        ...tracked.map(JobPods.untrack)
      ],
      again,
      memory: { ...backoff }
    }
  }
  const end = outcome === undefined || tracked.length > 0 ? [] : ended(jobWithStatus, outcome, managed.terminating, now)
  return { writes: [...managed.writes, ...tracked.map(JobPods.untrack), ...end], again, memory: { ...before } }
}

/** Returns a creation that writes `others` if it fails. */
const orElse = (write: Write, others: ReadonlyArray<Write>): Write =>
  write.verb === "create" ? { ...write, failed: (failure) => [...(write.failed?.(failure) ?? []), ...others] } : write

/** Returns the Job with its start time. */
const started = (job: JsonObject, now: number): JsonObject =>
  at(job, "status", "startTime") !== undefined || isSuspended(job)
    ? job
    : { ...job, status: { ...object(job.status), startTime: timestamp(now) } }

/** Returns the Job with the condition Suspended; undefined if the condition is up to date. */
const suspended = (
  job: JsonObject,
  now: number
): { readonly job: JsonObject; readonly events: ReadonlyArray<Write> } | undefined => {
  const is = isSuspended(job)
  const conditions = JobOutcome.conditionsOf(job)
  const place = conditions.findIndex(({ type }) => type === "Suspended")
  const isReported = place < 0 ? !is : (conditions[place]?.status === "True") === is
  if (isReported) return undefined
  const [reason, message, status] = is
    ? (["JobSuspended", "Job suspended", "True"] as const)
    : (["JobResumed", "Job resumed", "False"] as const)
  const suspendedCondition = JobOutcome.condition("Suspended", reason, message, now, status)
  return {
    job: {
      ...job,
      status: {
        ...object(job.status),
        startTime: is ? undefined : timestamp(now),
        conditions: place < 0 ? [...conditions, suspendedCondition] : conditions.with(place, suspendedCondition)
      }
    },
    events: [{ verb: "record", about: job, type: "Normal", reason: is ? "Suspended" : "Resumed", message }]
  }
}

/** Whether a pod can be released, because its result is known or not needed. */
const canGo = ({ job }: JobState, pod: JsonObject, outcome: JsonObject | undefined): boolean =>
  isDeleting(job) || outcome !== undefined || phaseOf(pod) === "Succeeded" || hasFailed(pod, job)

/** Returns the status after a pass, which releases the `tracked` pods. */
const statusOf = (
  job: JsonObject,
  state: JobState,
  managed: JobPods.Managed,
  tracked: ReadonlyArray<JsonObject>,
  outcome: JsonObject | undefined
): JsonObject => {
  const { uncounted } = state
  const waiting = new Set(state.pods.filter(isTracked).map(uidOf))
  const keep = (uids: ReadonlyArray<string>) => uids.filter((uid) => waiting.has(uid))
  const succeeded = keep(uncounted.succeeded)
  const failed = keep(uncounted.failed)
  const named = new Set([...succeeded, ...failed])
  const isFailing = outcome?.type === "FailureTarget"
  for (const pod of tracked.filter((one) => !named.has(uidOf(one)))) {
    if (phaseOf(pod) === "Succeeded") {
      if (!isIndexed(job)) succeeded.push(uidOf(pod))
    } else if ((hasFailed(pod, job) || isFailing) && counts(job, pod)) failed.push(uidOf(pod))
  }
  const conditions = JobOutcome.conditionsOf(job)
  const isNew = outcome !== undefined && Conditions.find(conditions, String(outcome.type)) === undefined
  const indexes = Indexes.format(state.completed)
  return defined({
    ...object(job.status),
    conditions: isNew ? [...conditions, outcome] : conditions,
    active: managed.active,
    ready: managed.ready,
    terminating: managed.terminating,
    succeeded: isIndexed(job)
      ? state.completed.size
      : counter(job, "succeeded") + uncounted.succeeded.length - keep(uncounted.succeeded).length,
    failed: counter(job, "failed") + uncounted.failed.length - keep(uncounted.failed).length,
    completedIndexes: isIndexed(job) ? indexes : undefined,
    uncountedTerminatedPods: defined({ succeeded, failed })
  })
}

/** Whether a failed pod counts as a failure of the Job. */
const counts = (job: JsonObject, pod: JsonObject): boolean =>
  verdictOn(job, pod).counts &&
  (!isIndexed(job) || Indexes.indexOf(pod, specified(job, "completions") ?? 0) !== undefined)

/** Kubernetes omits counts of 0 and empty fields, apart from fields that can be unknown. */
const defined = (status: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(status).filter(
      ([name, value]) =>
        value !== undefined &&
        value !== "" &&
        !(Array.isArray(value) && value.length === 0) &&
        (value !== 0 || name === "ready" || name === "terminating")
    )
  )

/** Reports the end when no pod is left. */
const ended = (job: JsonObject, outcome: JsonObject, terminating: number, now: number): ReadonlyArray<Write> => {
  const uncounted = object(at(job, "status", "uncountedTerminatedPods"))
  if (terminating > 0 || uncounted.succeeded !== undefined || uncounted.failed !== undefined) return []
  const end = JobOutcome.end(outcome, now)
  const status = {
    ...object(job.status),
    conditions: [...JobOutcome.conditionsOf(job), end],
    ...(end.type === "Complete" ? { completionTime: end.lastTransitionTime } : {})
  }
  const done = (): ReadonlyArray<Write> => [
    ...(end.type === "Complete" && JobOutcome.hasTooMany(job) ? [tooMany(job)] : []),
    JobOutcome.event(job, end)
  ]
  return [{ verb: "update", subresource: "status", object: { ...job, status }, done }]
}

const tooMany = (job: JsonObject): Write => ({
  verb: "record",
  about: job,
  type: "Warning",
  reason: "TooManySucceededPods",
  message: "Too many succeeded pods running after completion count reached"
})

const kind: Claimants.Kind = { storage: Storages.jobs, apiVersion: "batch/v1", kind: "Job" }

const keys = (change: Change, snapshot: Snapshot): ReadonlyArray<string> =>
  change.storage === Storages.jobs ? [keyOfObject(change.object)] : Claimants.keys(change, snapshot, kind)

/** The Job controller. */
export const jobController: BuiltInController = {
  name: "job-controller",
  manager: "kube-controller-manager",
  component: "job-controller",
  retry: { firstMillis: 1_000, lastMillis: 60_000 },
  storages: [Storages.jobs, Storages.pods],
  keys,
  reconcile
}
