/** ReplicaSets: create and delete pods to reach `replicas`. */

import { at, equal, type JsonObject, number, object, objects } from "@homeostat/apiserver/model/Json"
import {
  controllerOf,
  isDeleting,
  keyOfObject,
  labelsOf,
  nameOf,
  namespaceOf,
  ofKey
} from "@homeostat/apiserver/model/ObjectMeta"
import { timestamp } from "@homeostat/apiserver/model/Timestamp"
import { matches, ofLabelSelector, ofMap } from "@homeostat/apiserver/storage/LabelSelector"
import type { Change } from "@homeostat/apiserver/storage/Store"
import { type BuiltInController, nothing, type Pass, type Snapshot, type Write } from "./BuiltInController.ts"
import { claim } from "./Claim.ts"
import * as Claimants from "./Claimants.ts"
import {
  fromTemplate,
  isActive,
  isAvailable,
  isReady,
  isTerminating,
  mostExpendable,
  nodeOf,
  untilNextAvailable
} from "./ManagedPods.ts"
import * as Storages from "./Storages.ts"
import * as Conditions from "./WorkloadConditions.ts"

/** The maximum number of pods that one pass creates or deletes. */
const burst = 500

const reconcile = (snapshot: Snapshot, key: string, now: number): Pass => {
  const set = snapshot.get(Storages.replicaSets, ...ofKey(key))
  if (set === undefined) return nothing
  const selector = ofLabelSelector(at(set, "spec", "selector"))
  const { objects: pods, patches } = claim(snapshot, Storages.pods, set, selector)
  // An ended pod keeps its owner, and is not adopted.
  const claims = patches.filter(({ object }) => isActive(object))
  if (claims.length > 0) return { writes: claims }
  const active = pods.filter(isActive)
  const writesWith = (failure: string | undefined) => statusWrites(set, pods, failure, now)
  return {
    writes: [...(isDeleting(set) ? [] : managed(snapshot, set, active, now, writesWith)), ...writesWith(undefined)],
    again: untilNextAvailable(set, active, now)
  }
}

/** Creates or deletes pods. */
const managed = (
  snapshot: Snapshot,
  set: JsonObject,
  active: ReadonlyArray<JsonObject>,
  now: number,
  writesWith: (failure: string) => ReadonlyArray<Write>
): ReadonlyArray<Write> => {
  const missing = (number(at(set, "spec", "replicas")) ?? 0) - active.length
  if (missing > 0) {
    return Array.from({ length: Math.min(missing, burst) }, () => ({
      verb: "create" as const,
      object: fromTemplate(object(at(set, "spec", "template")), set),
      done: (pod: JsonObject) => [event(set, "Normal", "SuccessfulCreate", `Created pod: ${nameOf(pod)}`)],
      failed: ({ message }: { readonly message: string }) => [
        event(set, "Warning", "FailedCreate", `Error creating: ${message}`),
        ...writesWith(message)
      ]
    }))
  }
  const crowd = missing === 0 ? () => 0 : crowdOf(snapshot, set)
  const surplus = missing === 0 ? [] : mostExpendable(active, now, crowd).slice(0, Math.min(-missing, burst))
  return surplus.map((pod) => ({
    verb: "delete" as const,
    object: pod,
    done: () => [event(set, "Normal", "SuccessfulDelete", `Deleted pod: ${nameOf(pod)}`)],
    failed: ({ message }: { readonly message: string }) => [
      event(set, "Warning", "FailedDelete", `Error deleting: ${message}`),
      ...writesWith(`unable to delete pods: ${message}`)
    ]
  }))
}

const event = (about: JsonObject, type: "Normal" | "Warning", reason: string, message: string): Write => ({
  verb: "record",
  about,
  type,
  reason,
  message
})

/** Returns a function that counts the pods of related ReplicaSets on the node of a pod. Related ReplicaSets have the same owner. */
const crowdOf = (snapshot: Snapshot, set: JsonObject): ((pod: JsonObject) => number) => {
  const owner = controllerOf(set)?.uid
  const namespace = namespaceOf(set)
  const selectors = snapshot
    .list(Storages.replicaSets, namespace)
    .filter((one) => one === set || (owner !== undefined && controllerOf(one)?.uid === owner))
    .map((one) => ofLabelSelector(at(one, "spec", "selector")))
  const counts = new Map<string, number>()
  for (const pod of snapshot.list(Storages.pods, namespace)) {
    if (!isActive(pod) || !selectors.some((selector) => matches(selector, labelsOf(pod)))) continue
    counts.set(nodeOf(pod), (counts.get(nodeOf(pod)) ?? 0) + 1)
  }
  return (pod) => counts.get(nodeOf(pod)) ?? 0
}

/** Writes the status if it has changed. `failure` is the error of the creation or deletion of pods. */
const statusWrites = (
  set: JsonObject,
  pods: ReadonlyArray<JsonObject>,
  failure: string | undefined,
  now: number
): ReadonlyArray<Write> => {
  const active = pods.filter(isActive)
  const template = ofMap(at(set, "spec", "template", "metadata", "labels"))
  const count = (holds: (pod: JsonObject) => boolean) => active.filter(holds).length
  const conditions = failing(set, active.length, failure, now)
  const status: JsonObject = {
    replicas: active.length,
    ...positive({
      fullyLabeledReplicas: count((pod) => matches(template, labelsOf(pod))),
      readyReplicas: count(isReady),
      availableReplicas: count((pod) => isAvailable(set, pod, now))
    }),
    terminatingReplicas: pods.filter(isTerminating).length,
    observedGeneration: number(at(set, "metadata", "generation")) ?? 0,
    ...(conditions.length === 0 ? {} : { conditions })
  }
  return equal(status, set.status) ? [] : [{ verb: "update", subresource: "status", object: { ...set, status } }]
}

/** Kubernetes omits counts of 0. */
const positive = (counts: { readonly [name: string]: number }): JsonObject =>
  Object.fromEntries(Object.entries(counts).filter(([, value]) => value > 0))

const failing = (set: JsonObject, active: number, failure: string | undefined, now: number): Conditions.Conditions => {
  const conditions = objects(at(set, "status", "conditions"))
  if (failure === undefined) return Conditions.without(conditions, "ReplicaFailure")
  if (Conditions.find(conditions, "ReplicaFailure") !== undefined) return conditions
  const reason = active < (number(at(set, "spec", "replicas")) ?? 0) ? "FailedCreate" : "FailedDelete"
  return [
    ...conditions,
    { type: "ReplicaFailure", status: "True", lastTransitionTime: timestamp(now), reason, message: failure }
  ]
}

const kind: Claimants.Kind = { storage: Storages.replicaSets, apiVersion: "apps/v1", kind: "ReplicaSet" }

const keys = (change: Change, snapshot: Snapshot): ReadonlyArray<string> =>
  change.storage === Storages.replicaSets ? [keyOfObject(change.object)] : Claimants.keys(change, snapshot, kind)

/** The ReplicaSet controller. */
export const replicaSetController: BuiltInController = {
  name: "replicaset-controller",
  manager: "kube-controller-manager",
  component: "replicaset-controller",
  storages: [Storages.replicaSets, Storages.pods],
  keys,
  reconcile
}
