/** Cleans up after Jobs: releases pods with the finalizer of a missing or finished Job, and deletes finished Jobs after their TTL. */
import { at, type JsonObject, text } from "@homeostat/apiserver/model/Json"
import {
  controllerOf,
  isDeleting,
  keyOf,
  keyOfObject,
  millisOf,
  namespaceOf,
  ofKey,
  uidOf
} from "@homeostat/apiserver/model/ObjectMeta"
import { type BuiltInController, nothing, type Pass, type Snapshot } from "./BuiltInController.ts"
import * as JobOutcome from "./JobOutcome.ts"
import { untrack } from "./JobPods.ts"
import { isFinished, isTracked, specified } from "./JobState.ts"
import * as Storages from "./Storages.ts"

/** Removes the finalizer of pods that no Job counts any more. */
export const orphanPods: BuiltInController = {
  name: "job-controller",
  manager: "kube-controller-manager",
  component: "job-controller",
  storages: [Storages.jobs, Storages.pods],
  keys: ({ object, storage, type }, snapshot) => {
    if (storage === Storages.pods) return isTracked(object) && type !== "DELETED" ? [keyOfObject(object)] : []
    if (type !== "DELETED" && !isFinished(object)) return []
    return snapshot
      .dependents(uidOf(object))
      .filter((one) => one.storage === Storages.pods && isTracked(one.object))
      .map((one) => keyOfObject(one.object))
  },
  reconcile: (snapshot, key) => {
    const pod = snapshot.get(Storages.pods, ...ofKey(key))
    return pod !== undefined && isTracked(pod) && isOrphan(snapshot, pod) ? { writes: [untrack(pod)] } : nothing
  }
}

const isOrphan = (snapshot: Snapshot, pod: JsonObject): boolean => {
  const owner = controllerOf(pod)
  if (owner === undefined) return true
  if (owner.kind !== "Job" || owner.apiVersion !== "batch/v1") return false
  const job = snapshot.get(Storages.jobs, ...ofKey(keyOf(namespaceOf(pod), text(owner.name) ?? "")))
  return job === undefined || uidOf(job) !== owner.uid || isFinished(job)
}

/** Deletes Jobs, and their pods before them, when `ttlSecondsAfterFinished` has passed. */
export const ttlAfterFinished: BuiltInController = {
  name: "ttl-after-finished-controller",
  manager: "kube-controller-manager",
  component: "ttl-after-finished-controller",
  storages: [Storages.jobs],
  keys: ({ object, type }) =>
    type !== "DELETED" && specified(object, "ttlSecondsAfterFinished") !== undefined && isFinished(object)
      ? [keyOfObject(object)]
      : [],
  reconcile: (snapshot, key, now): Pass => {
    const job = snapshot.get(Storages.jobs, ...ofKey(key))
    const seconds = job === undefined ? undefined : specified(job, "ttlSecondsAfterFinished")
    if (job === undefined || seconds === undefined || isDeleting(job) || !isFinished(job)) return nothing
    const left = finishedAt(job) + seconds * 1000 - now
    return left > 0
      ? { writes: [], again: left }
      : { writes: [{ verb: "delete", object: job, propagation: "Foreground" }] }
  }
}

const finishedAt = (job: JsonObject): number => {
  const end = JobOutcome.conditionsOf(job).find(
    ({ status, type }) => status === "True" && (type === "Complete" || type === "Failed")
  )
  return millisOf(at(end, "lastTransitionTime")) ?? 0
}
