/**
 * PodDisruptionBudgets: the healthy, desired and expected pods of a budget, and the allowed disruptions.
 *
 * The expected number comes from the ReplicaSets and StatefulSets that own the pods. Other pods do not count there.
 */

import { at, equal, type Json, type JsonObject, list, number, object, objects } from "@homeostat/apiserver/model/Json"
import {
  controllerKey,
  controllerOf,
  isDeleting,
  keyOfObject,
  labelsOf,
  namespaceOf,
  ofKey
} from "@homeostat/apiserver/model/ObjectMeta"
import { timestamp } from "@homeostat/apiserver/model/Timestamp"
import { matches, ofLabelSelector } from "@homeostat/apiserver/storage/LabelSelector"
import { type BuiltInController, nothing, type Pass, type Snapshot, type Write } from "./BuiltInController.ts"
import { isFinished, isReady } from "./ManagedPods.ts"
import * as Storages from "./Storages.ts"

/** Reconciles a budget. `memory` is the resourceVersion for which an Event has reported that no pod matches. */
const reconcile = (snapshot: Snapshot, key: string, now: number, memory: Json | undefined): Pass => {
  const budget = snapshot.get(Storages.budgets, ...ofKey(key))
  if (budget === undefined) return nothing
  const pods = snapshot.list(Storages.pods, namespaceOf(budget)).filter((pod) => selects(budget, pod))
  const status = statusOf(budget, pods, expectedOf(snapshot, pods), now)
  const version = at(budget, "metadata", "resourceVersion")
  return {
    writes: [
      ...(pods.length > 0 || memory === version ? [] : [noPods(budget)]),
      ...(equal(status, budget.status)
        ? []
        : [{ verb: "update" as const, subresource: "status", object: { ...budget, status } }])
    ],
    memory: pods.length > 0 ? undefined : version
  }
}

const noPods = (about: JsonObject): Write => ({
  verb: "record",
  about,
  type: "Normal",
  reason: "NoPods",
  message: "No matching pods found"
})

const selects = (budget: JsonObject, pod: JsonObject): boolean =>
  !isFinished(pod) && matches(ofLabelSelector(at(budget, "spec", "selector")), labelsOf(pod))

/** The kinds with replicas that own pods. */
const scalable = { ReplicaSet: Storages.replicaSets, StatefulSet: Storages.statefulSets }

/** Returns the expected number of pods, from the sets that own them. */
const expectedOf = (snapshot: Snapshot, pods: ReadonlyArray<JsonObject>): number => {
  const owners = new Map<Json | undefined, number>()
  for (const pod of pods) {
    for (const [kind, storage] of Object.entries(scalable)) {
      const owner = controllerKey(pod, "apps/v1", kind)
      const set = owner === undefined ? undefined : snapshot.get(storage, ...ofKey(owner))
      if (set !== undefined) owners.set(controllerOf(pod)?.uid, number(at(set, "spec", "replicas")) ?? 0)
    }
  }
  return [...owners.values()].reduce((sum, replicas) => sum + replicas, 0)
}

/** Resolves a number, or a percentage of `total`, rounded up. */
const scaled = (value: Json | undefined, total: number): number =>
  typeof value === "string" ? Math.ceil((Number.parseInt(value, 10) * total) / 100) : (number(value) ?? 0)

const statusOf = (budget: JsonObject, pods: ReadonlyArray<JsonObject>, expected: number, now: number): JsonObject => {
  const { maxUnavailable, minAvailable } = object(budget.spec)
  // With an absolute minimum, only the existing pods count.
  const expectedPods = maxUnavailable === undefined && typeof minAvailable === "number" ? pods.length : expected
  const desiredHealthy =
    maxUnavailable === undefined
      ? scaled(minAvailable, expectedPods)
      : Math.max(0, expectedPods - scaled(maxUnavailable, expectedPods))
  const disrupted = object(at(budget, "status", "disruptedPods"))
  const currentHealthy = pods.filter((pod) => isReady(pod) && !isDeleting(pod)).length
  const disruptionsAllowed = expectedPods === 0 ? 0 : Math.max(0, currentHealthy - desiredHealthy)
  const old = objects(at(budget, "status", "conditions")).find(({ type }) => type === "DisruptionAllowed")
  const status = disruptionsAllowed > 0 ? "True" : "False"
  const generation = number(at(budget, "metadata", "generation")) ?? 0
  return {
    observedGeneration: generation,
    disruptionsAllowed,
    currentHealthy,
    desiredHealthy,
    expectedPods,
    ...(Object.keys(disrupted).length === 0 ? {} : { disruptedPods: disrupted }),
    conditions: [
      ...list(at(budget, "status", "conditions")).filter((one) => one !== old),
      {
        type: "DisruptionAllowed",
        status,
        observedGeneration: generation,
        lastTransitionTime: old?.status === status ? old.lastTransitionTime : timestamp(now),
        reason: disruptionsAllowed > 0 ? "SufficientPods" : "InsufficientPods",
        message: ""
      }
    ]
  }
}

/** The disruption controller. */
export const disruptionController: BuiltInController = {
  name: "disruption-controller",
  manager: "kube-controller-manager",
  component: "controllermanager",
  storages: [Storages.budgets, Storages.pods, Storages.replicaSets, Storages.statefulSets],
  keys: ({ object: changed, previous, storage }, snapshot) => {
    if (storage === Storages.budgets) return [keyOfObject(changed)]
    const budgets = snapshot.list(Storages.budgets, namespaceOf(changed))
    if (storage !== Storages.pods) return budgets.map(keyOfObject)
    return budgets
      .filter((budget) => selects(budget, changed) || (previous !== undefined && selects(budget, previous)))
      .map(keyOfObject)
  },
  reconcile
}
