/** The status of a Deployment: its counts of pods, and its conditions Available and Progressing. */

import { at, equal, type JsonObject, number, object, objects } from "@homeostat/apiserver/model/Json"
import { millisOf, nameOf } from "@homeostat/apiserver/model/ObjectMeta"
import { timestamp } from "@homeostat/apiserver/model/Timestamp"
import { counted, countedOfAll, maxUnavailable, wanted, wantedByAll } from "./Rollout.ts"
import * as Conditions from "./WorkloadConditions.ts"

/** Returns a condition of a Deployment with `now` as its times. */
export const condition = (
  type: "Available" | "Progressing",
  status: Conditions.Status,
  reason: string,
  message: string,
  now: number
): JsonObject => ({
  type,
  status,
  lastUpdateTime: timestamp(now),
  lastTransitionTime: timestamp(now),
  reason,
  message
})

/** The conditions of a Deployment. */
const conditionsOf = (deployment: JsonObject): Conditions.Conditions => objects(at(deployment, "status", "conditions"))

/** Returns the condition `Progressing`. */
export const progressing = (deployment: JsonObject): JsonObject | undefined =>
  Conditions.find(conditionsOf(deployment), "Progressing")

/** Returns the progress deadline of a rollout in seconds; undefined: no deadline. */
export const deadlineOf = (deployment: JsonObject): number | undefined => {
  const seconds = number(at(deployment, "spec", "progressDeadlineSeconds"))
  return seconds === 2_147_483_647 ? undefined : seconds
}

/** Returns the Deployment with this condition in its status. */
export const withCondition = (deployment: JsonObject, changed: JsonObject): JsonObject => ({
  ...deployment,
  status: { ...object(deployment.status), conditions: Conditions.set(conditionsOf(deployment), changed) }
})

/** Returns the status from the ReplicaSets, without the progress of the rollout. */
export const calculated = (
  deployment: JsonObject,
  fresh: JsonObject | undefined,
  old: ReadonlyArray<JsonObject>,
  now: number
): JsonObject => {
  const all = fresh === undefined ? old : [...old, fresh]
  const available = countedOfAll(all, "availableReplicas")
  const enough = available >= wanted(deployment) - maxUnavailable(deployment)
  return {
    ...present({
      observedGeneration: number(at(deployment, "metadata", "generation")) ?? 0,
      replicas: countedOfAll(all, "replicas"),
      updatedReplicas: fresh === undefined ? 0 : counted(fresh, "replicas"),
      readyReplicas: countedOfAll(all, "readyReplicas"),
      availableReplicas: available,
      unavailableReplicas: Math.max(0, wantedByAll(all) - available)
    }),
    terminatingReplicas: terminating(all),
    collisionCount: at(deployment, "status", "collisionCount"),
    conditions: Conditions.set(
      conditionsOf(deployment),
      enough
        ? condition("Available", "True", "MinimumReplicasAvailable", "Deployment has minimum availability.", now)
        : condition(
            "Available",
            "False",
            "MinimumReplicasUnavailable",
            "Deployment does not have minimum availability.",
            now
          )
    )
  }
}

/** Undefined while a ReplicaSet has not reported its terminating pods. */
const terminating = (sets: ReadonlyArray<JsonObject>): number | undefined =>
  sets.some((set) => counted(set, "observedGeneration") !== 0 && at(set, "status", "terminatingReplicas") === undefined)
    ? undefined
    : countedOfAll(sets, "terminatingReplicas")

/** Kubernetes omits counts of 0. */
const present = (numbers: { readonly [name: string]: number }): JsonObject =>
  Object.fromEntries(Object.entries(numbers).filter(([, value]) => value !== 0))

/** Whether a status reports that all pods are updated and available. */
export const isComplete = (deployment: JsonObject, status: JsonObject): boolean =>
  ["updatedReplicas", "replicas", "availableReplicas"].every(
    (field) => (number(status[field]) ?? 0) === wanted(deployment)
  ) && (number(status.observedGeneration) ?? 0) >= (number(at(deployment, "metadata", "generation")) ?? 0)

/** Returns the status during a rollout, with the condition Progressing and the failures of the ReplicaSets. */
export const ofRollout = (
  deployment: JsonObject,
  fresh: JsonObject | undefined,
  old: ReadonlyArray<JsonObject>,
  now: number
): JsonObject => {
  const status = calculated(deployment, fresh, old, now)
  const failure = [...(fresh === undefined ? [] : [fresh]), ...old]
    .map((set) => Conditions.find(objects(at(set, "status", "conditions")), "ReplicaFailure"))
    .find((found) => found !== undefined)
  const conditions = progressed(deployment, fresh, status, now)
  return {
    ...status,
    conditions:
      failure === undefined
        ? Conditions.without(conditions, "ReplicaFailure")
        : Conditions.set(conditions, { ...failure, lastUpdateTime: failure.lastTransitionTime })
  }
}

const progressed = (
  deployment: JsonObject,
  fresh: JsonObject | undefined,
  status: JsonObject,
  now: number
): Conditions.Conditions => {
  const conditions = objects(status.conditions)
  if (deadlineOf(deployment) === undefined) return Conditions.without(conditions, "Progressing")
  const current = progressing(deployment)
  const isNew = (number(status.replicas) ?? 0) === (number(status.updatedReplicas) ?? 0)
  if (isNew && current?.reason === "NewReplicaSetAvailable") return conditions
  const who = fresh === undefined ? `Deployment ${quoted(deployment)}` : `ReplicaSet ${quoted(fresh)}`
  if (isComplete(deployment, status)) {
    return Conditions.set(
      conditions,
      condition("Progressing", "True", "NewReplicaSetAvailable", `${who} has successfully progressed.`, now)
    )
  }
  if (getsOn(deployment, status)) {
    // The condition is updated although nothing else changes, because the deadline counts from the last progress.
    const made = condition("Progressing", "True", "ReplicaSetUpdated", `${who} is progressing.`, now)
    const since = current?.status === "True" ? current.lastTransitionTime : made.lastTransitionTime
    return [...Conditions.without(conditions, "Progressing"), { ...made, lastTransitionTime: since }]
  }
  if (untilTimedOut(deployment, now) === 0) {
    return Conditions.set(
      conditions,
      condition("Progressing", "False", "ProgressDeadlineExceeded", `${who} has timed out progressing.`, now)
    )
  }
  return conditions
}

const quoted = (object: JsonObject): string => JSON.stringify(nameOf(object))

/** Whether there are more updated pods, fewer old pods, or more available pods. */
const getsOn = (deployment: JsonObject, status: JsonObject): boolean => {
  const [before, after] = [object(deployment.status), status].map((one) => {
    const value = (field: string) => number(one[field]) ?? 0
    const updated = value("updatedReplicas")
    return {
      updated,
      old: value("replicas") - updated,
      ready: value("readyReplicas"),
      available: value("availableReplicas")
    }
  })
  if (before === undefined || after === undefined) return false
  return (
    after.updated > before.updated ||
    after.old < before.old ||
    after.ready > before.ready ||
    after.available > before.available
  )
}

/** Returns the milliseconds until a rollout without progress fails; undefined: the rollout has no deadline or is complete. */
export const untilTimedOut = (deployment: JsonObject, now: number): number | undefined => {
  const deadline = deadlineOf(deployment)
  const current = progressing(deployment)
  if (deadline === undefined || current === undefined || current.reason === "NewReplicaSetAvailable") return undefined
  if (current.reason === "ProgressDeadlineExceeded") return 0
  // One millisecond is added, because the rollout fails only after more than the deadline.
  return Math.max(0, (millisOf(current.lastUpdateTime) ?? now) + deadline * 1000 + 1 - now)
}

/** Whether the Deployment already has this status. */
export const isReportedBy = (deployment: JsonObject, status: JsonObject): boolean =>
  equal(at(deployment, "status") ?? {}, status)
