/**
 * Jobs: pods until enough of them have succeeded, or too many failed.
 *
 * A pass makes or deletes pods; writes the status, which names the pods that have finished; and takes their finalizers. What
 * that changes brings the next pass, which counts them, and when no pod is left tells the end.
 *
 * Left out, as nothing that is built on this server needs it: `successPolicy`, `backoffLimitPerIndex` and with it `FailIndex`.
 */

import { at, equal, type Json, type JsonObject, object, text } from "@homeostat/apiserver/model/Json"
import {
  controllerKey,
  controllerOf,
  isDeleting,
  keyOfObject,
  labelsOf,
  namespaceOf,
  ofKey,
  uidOf
} from "@homeostat/apiserver/model/ObjectMeta"
import { timestamp } from "@homeostat/apiserver/model/Timestamp"
import { matches, ofLabelSelector } from "@homeostat/apiserver/storage/LabelSelector"
import type { Change } from "@homeostat/apiserver/storage/Store"
import { type BuiltInController, nothing, type Pass, type Snapshot, type Write } from "./BuiltInController.ts"
import { claim } from "./Claim.ts"
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
  const told = { ...state.job, status }
  const waits = [managed.again, JobOutcome.untilDeadline(told, now)].filter((wait) => wait !== undefined && wait > 0)
  const again = outcome !== undefined || waits.length === 0 ? undefined : Math.min(...waits.map(Number))
  // What is certain has to be stored before the pods that make it so may go.
  if (!equal(status, stored.status)) {
    // That it has started is told even if its pods are refused: its deadline counts from then.
    const unmanned = statusOf(state.job, state, { ...managed, active: state.active.length }, [], undefined)
    const start: ReadonlyArray<Write> =
      at(stored, "status", "startTime") === undefined
        ? [{ verb: "update", subresource: "status", object: { ...state.job, status: unmanned } }]
        : []
    return {
      writes: [
        ...managed.writes.map((write) => orElse(write, start)),
        ...(suspension?.events ?? []),
        { verb: "update", subresource: "status", object: told },
        ...tracked.map(JobPods.untrack)
      ],
      again,
      memory: { ...backoff }
    }
  }
  const end = outcome === undefined || tracked.length > 0 ? [] : ended(told, outcome, managed.terminating, now)
  return { writes: [...managed.writes, ...tracked.map(JobPods.untrack), ...end], again, memory: { ...before } }
}

/** A write, and what else is written if it is refused. */
const orElse = (write: Write, others: ReadonlyArray<Write>): Write =>
  write.verb === "create" ? { ...write, failed: (failure) => [...(write.failed?.(failure) ?? []), ...others] } : write

/** The Job with the time of its start. */
const started = (job: JsonObject, now: number): JsonObject =>
  at(job, "status", "startTime") !== undefined || isSuspended(job)
    ? job
    : { ...job, status: { ...object(job.status), startTime: timestamp(now) } }

/** The Job with the condition that tells of its being suspended or resumed; undefined where it is told. */
const suspended = (
  job: JsonObject,
  now: number
): { readonly job: JsonObject; readonly events: ReadonlyArray<Write> } | undefined => {
  const is = isSuspended(job)
  const conditions = JobOutcome.conditionsOf(job)
  const place = conditions.findIndex(({ type }) => type === "Suspended")
  const isTold = place < 0 ? !is : (conditions[place]?.status === "True") === is
  if (isTold) return undefined
  const [reason, message, status] = is
    ? (["JobSuspended", "Job suspended", "True"] as const)
    : (["JobResumed", "Job resumed", "False"] as const)
  const said = JobOutcome.condition("Suspended", reason, message, now, status)
  return {
    job: {
      ...job,
      status: {
        ...object(job.status),
        startTime: is ? undefined : timestamp(now),
        conditions: place < 0 ? [...conditions, said] : conditions.with(place, said)
      }
    },
    events: [{ verb: "record", about: job, type: "Normal", reason: is ? "Suspended" : "Resumed", message }]
  }
}

/** Whether nothing has to be learnt from a pod any more. */
const canGo = ({ job }: JobState, pod: JsonObject, outcome: JsonObject | undefined): boolean =>
  isDeleting(job) || outcome !== undefined || phaseOf(pod) === "Succeeded" || hasFailed(pod, job)

/** The status after a pass: `tracked` are the pods that it lets go. */
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

/** Whether a failed pod is one of the failures. */
const counts = (job: JsonObject, pod: JsonObject): boolean =>
  verdictOn(job, pod).counts &&
  (!isIndexed(job) || Indexes.indexOf(pod, specified(job, "completions") ?? 0) !== undefined)

/** Kubernetes leaves out what is 0 or empty, but for what can be unknown. */
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

/** Tells the end, when no pod is left to be waited for. */
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

const keys = ({ object: changed, previous, storage, type }: Change, snapshot: Snapshot): ReadonlyArray<string> => {
  if (storage === Storages.jobs) return [keyOfObject(changed)]
  const owners = [changed, ...(previous === undefined ? [] : [previous])]
    .map((pod) => controllerKey(pod, "batch/v1", "Job"))
    .filter((key) => key !== undefined)
  if (controllerOf(changed) !== undefined || type === "DELETED") return owners
  const selecting = snapshot
    .list(Storages.jobs, namespaceOf(changed))
    .filter((job) => matches(ofLabelSelector(at(job, "spec", "selector")), labelsOf(changed)))
  return [...owners, ...selecting.map(keyOfObject)]
}

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
