/** The pods that a Job creates and deletes until it has finished. */
import {
  at,
  copy,
  type DraftObject,
  items,
  type JsonObject,
  member,
  object,
  objects,
  text
} from "@homeostat/apiserver/model/Json"
import { finalizerPatch, nameOf } from "@homeostat/apiserver/model/ObjectMeta"
import type { Write } from "./BuiltInController.ts"
import * as Indexes from "./Indexes.ts"
import * as JobBackoff from "./JobBackoff.ts"
import { isIndexed, isSuspended, isTracked, type JobState, specified, tracking, waitsForEnd } from "./JobState.ts"
import { fromTemplate, isReady, isTerminating, mostExpendable } from "./ManagedPods.ts"

/** The maximum number of pods that one pass creates or deletes. */
const burst = 500

/** The result of managing the pods. */
export interface Managed {
  readonly writes: ReadonlyArray<Write>
  /** The numbers of active, ready and terminating pods after the writes. */
  readonly active: number
  readonly ready: number
  readonly terminating: number
  /** Milliseconds until the Job may create the next pod. */
  readonly again?: number
}

/** Returns the result of deleting pods. */
export const deleted = (
  { active, job, terminating }: JobState,
  pods: ReadonlyArray<JsonObject>,
  write: (job: JsonObject, pod: JsonObject) => ReadonlyArray<Write>
): Managed => ({
  writes: pods.flatMap((pod) => write(job, pod)),
  active: active.length - pods.length,
  ready: active.filter(isReady).length - pods.filter(isReady).length,
  terminating: terminating + pods.length
})

/** Deletes a pod, which then counts as failed. */
export const remove = (job: JsonObject, pod: JsonObject): ReadonlyArray<Write> => [
  {
    verb: "delete",
    object: pod,
    done: () => [event(job, "Normal", "SuccessfulDelete", `Deleted pod: ${nameOf(pod)}`)],
    failed: ({ message }) => [event(job, "Warning", "FailedDelete", `Error deleting: ${message}`)]
  }
]

/** Deletes a pod that does not count. */
const discard = (job: JsonObject, pod: JsonObject): ReadonlyArray<Write> => [
  ...(isTracked(pod) ? [untrack(pod)] : []),
  ...remove(job, pod)
]

/** Removes the finalizer of a counted pod. */
export const untrack = (pod: JsonObject): Write => ({
  verb: "patch",
  object: pod,
  patch: finalizerPatch(pod, tracking)
})

const event = (about: JsonObject, type: "Normal" | "Warning", reason: string, message: string): Write => ({
  verb: "record",
  about,
  type,
  reason,
  message
})

/** Creates or deletes pods to reach the wanted number. */
export const managed = (state: JobState, backoff: JobBackoff.Backoff, now: number): Managed => {
  const { active, job, terminating } = state
  const surplus = isSuspended(job) ? active : tooMany(state, now).slice(0, burst)
  if (surplus.length > 0) return deleted(state, surplus, discard)
  const ready = active.filter(isReady).length
  const unchanged = { writes: [], active: active.length, ready, terminating }
  const missing = wantedActive(state) - active.length - (waitsForEnd(job) ? terminating : 0)
  if (missing <= 0 || isSuspended(job)) return unchanged
  const wait = JobBackoff.remaining(backoff, now)
  if (wait > 0) return { ...unchanged, again: wait }
  const indexes = isIndexed(job) ? pendingIndexes(state) : undefined
  const count = Math.min(missing, burst, indexes?.length ?? missing)
  const writes = Array.from({ length: count }, (_, place) => create(job, indexes?.[place]))
  return { ...unchanged, writes, active: active.length + count }
}

const wantedActive = ({ active, job, succeeded }: JobState): number => {
  const parallelism = specified(job, "parallelism") ?? 1
  const completions = specified(job, "completions")
  // Without `completions`, the first success ends the Job, which then creates no further pods.
  if (completions === undefined) return succeeded > 0 ? active.length : parallelism
  return Math.max(0, Math.min(completions - succeeded, parallelism))
}

const completionsOf = (job: JsonObject): number => specified(job, "completions") ?? 0

/** Returns the pods to delete: those with an invalid or duplicate index, and then the most expendable. */
const tooMany = (state: JobState, now: number): ReadonlyArray<JsonObject> => {
  const { active, job } = state
  const seen = new Set<number>()
  const wrong = !isIndexed(job)
    ? []
    : mostExpendable(active, now, () => 0)
        .toReversed()
        .filter((pod) => {
          const index = Indexes.indexOf(pod, completionsOf(job))
          const isWrong = index === undefined || seen.has(index)
          if (index !== undefined) seen.add(index)
          return isWrong
        })
  const more = Math.max(0, active.length - wantedActive(state) - wrong.length)
  const others = active.filter((pod) => !wrong.includes(pod))
  return [...wrong, ...mostExpendable(others, now, () => 0).slice(0, more)]
}

/** Returns the lowest indexes without a pod and without a success. */
const pendingIndexes = ({ active, completed, job, pods }: JobState): ReadonlyArray<number> => {
  const completions = completionsOf(job)
  const waiting = waitsForEnd(job) ? pods.filter(isTerminating) : []
  const taken = new Set([...completed, ...Indexes.indexesOf([...active, ...waiting], completions)])
  return Array.from({ length: completions }, (_, index) => index).filter((index) => !taken.has(index))
}

const create = (job: JsonObject, index: number | undefined): Write => {
  const pod = fromTemplate(object(at(job, "spec", "template")), job)
  const finalizers = items(member(pod, "metadata"), "finalizers")
  if (!finalizers.includes(tracking)) finalizers.push(tracking)
  if (index !== undefined) number(pod, nameOf(job), index)
  return {
    verb: "create",
    object: pod,
    done: (made) => [event(job, "Normal", "SuccessfulCreate", `Created pod: ${nameOf(made)}`)],
    failed: ({ message }) => [event(job, "Warning", "FailedCreate", `Error creating: ${message}`)]
  }
}

/** Sets the index of a pod in its label, annotation, name, host name and the environment of its containers. */
const number = (pod: DraftObject, job: string, index: number): void => {
  const metadata = member(pod, "metadata")
  member(metadata, "labels")[Indexes.annotation] = String(index)
  member(metadata, "annotations")[Indexes.annotation] = String(index)
  metadata.generateName = `${job.slice(0, 253 - 7 - String(index).length)}-${index}-`
  const spec = member(pod, "spec")
  spec.hostname = `${job}-${index}`
  for (const list of ["initContainers", "containers"]) {
    if (spec[list] !== undefined) spec[list] = objects(spec[list]).map((container) => withIndex(copy(container)))
  }
}

const variable = "JOB_COMPLETION_INDEX"

const withIndex = (container: DraftObject): DraftObject => {
  const env = items(container, "env")
  const fieldPath = `metadata.labels['${Indexes.annotation}']`
  if (!objects(env).some(({ name }) => text(name) === variable)) {
    env.push({ name: variable, valueFrom: { fieldRef: { fieldPath } } })
  }
  return container
}
