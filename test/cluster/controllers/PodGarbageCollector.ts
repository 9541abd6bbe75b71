/**
 * The garbage collector of pods. It deletes pods of missing nodes, unscheduled pods that are being deleted, and the oldest ended pods
 * beyond 12,500.
 */
import { at, type Json, type JsonObject, number, object, objects } from "@homeostat/apiserver/model/Json"
import { createdAt, isDeleting, keyOfObject, nameOf, ofKey, uidOf } from "@homeostat/apiserver/model/ObjectMeta"
import { timestamp } from "@homeostat/apiserver/model/Timestamp"
import type { Change } from "@homeostat/apiserver/storage/Store"
import { type BuiltInController, nothing, type Pass, type Snapshot, type Write } from "./BuiltInController.ts"
import { isFinished, nodeOf } from "./ManagedPods.ts"
import * as Storages from "./Storages.ts"

/** The time in milliseconds that a node may be missing before its pods are deleted. */
const quarantine = 40_000

/** The interval in milliseconds between counts of ended pods. */
const period = 20_000

/** The number of ended pods to keep: `--terminated-pod-gc-threshold`. */
const threshold = 12_500

/** The key of the pass that counts ended pods, which is never the key of a pod. */
const ended = "ended"

const isLost = (snapshot: Snapshot, pod: JsonObject): boolean =>
  nodeOf(pod) !== "" && snapshot.get(Storages.nodes, "", nodeOf(pod)) === undefined

const reconcile = (snapshot: Snapshot, key: string, now: number, memory: Json | undefined): Pass => {
  const since = number(object(memory).since) ?? now
  if (key === ended) {
    if (now - since < period) return { writes: [], again: since + period - now, memory: { since } }
    return { writes: surplus(snapshot).flatMap((pod) => removed(pod, now)) }
  }
  const pod = snapshot.get(Storages.pods, ...ofKey(key))
  if (pod === undefined) return nothing
  if (isLost(snapshot, pod)) {
    const left = since + quarantine - now
    if (left > 0) return { writes: [], again: left, memory: { since } }
    return { writes: removed(pod, now, "PodGC: node no longer exists") }
  }
  return isDeleting(pod) && nodeOf(pod) === "" ? { writes: removed(pod, now) } : nothing
}

/** Returns the ended pods beyond the threshold: evicted ones first, then the oldest. */
const surplus = (snapshot: Snapshot): ReadonlyArray<JsonObject> => {
  const finished = snapshot.list(Storages.pods).filter(isFinished)
  if (finished.length <= threshold) return []
  const isEvicted = (pod: JsonObject) => Number(at(pod, "status", "reason") === "Evicted")
  return finished
    .toSorted(
      (one, other) =>
        isEvicted(other) - isEvicted(one) || createdAt(one) - createdAt(other) || (nameOf(one) < nameOf(other) ? -1 : 1)
    )
    .slice(0, finished.length - threshold)
}

/** Marks a pod as failed, and deletes it. A failed pod has no grace period. */
const removed = (pod: JsonObject, now: number, message?: string): ReadonlyArray<Write> => {
  const deletion: Write = { verb: "delete", object: pod }
  if (isFinished(pod)) return [deletion]
  const others = objects(at(pod, "status", "conditions")).filter(({ type }) => type !== "DisruptionTarget")
  const observedGeneration = number(at(pod, "metadata", "generation"))
  const condition: JsonObject = {
    type: "DisruptionTarget",
    observedGeneration,
    status: "True",
    lastProbeTime: null,
    lastTransitionTime: timestamp(now),
    reason: "DeletionByPodGC",
    message
  }
  return [
    {
      verb: "patch",
      subresource: "status",
      object: pod,
      patch: {
        metadata: { uid: uidOf(pod) },
        status: {
          phase: "Failed",
          observedGeneration,
          ...(message === undefined ? {} : { conditions: [...others, condition] })
        }
      }
    },
    deletion
  ]
}

const keys = ({ object, storage, type }: Change, snapshot: Snapshot): ReadonlyArray<string> => {
  if (storage === Storages.nodes) {
    if (type !== "DELETED") return []
    const name = nameOf(object)
    return snapshot
      .list(Storages.pods)
      .filter((pod) => nodeOf(pod) === name)
      .map(keyOfObject)
  }
  if (type === "DELETED") return []
  const isOwn = isLost(snapshot, object) || (isDeleting(object) && nodeOf(object) === "")
  return [...(isOwn ? [keyOfObject(object)] : []), ...(isFinished(object) ? [ended] : [])]
}

/** The garbage collector of pods. */
export const podGarbageCollector: BuiltInController = {
  name: "pod-garbage-collector-controller",
  manager: "kube-controller-manager",
  component: "pod-garbage-collector-controller",
  storages: [Storages.pods, Storages.nodes],
  keys,
  reconcile
}
