/** The arithmetic of rollouts: the limits on surplus and unavailable pods, and the replicas of each ReplicaSet. */
import { at, type Json, type JsonObject, number } from "@homeostat/apiserver/model/Json"
import { annotationsOf, createdAt, nameOf } from "@homeostat/apiserver/model/ObjectMeta"

/** The annotation of a ReplicaSet with the replicas of its Deployment at the last scaling. */
export const desiredAnnotation = "deployment.kubernetes.io/desired-replicas"

/** The annotation of a ReplicaSet with the maximum number of pods at the last scaling. */
export const maxAnnotation = "deployment.kubernetes.io/max-replicas"

/** Returns `spec.replicas`; default 0. */
export const wanted = (object: JsonObject): number => number(at(object, "spec", "replicas")) ?? 0

/** Returns a number of the status; default 0. */
export const counted = (object: JsonObject, field: string): number => number(at(object, "status", field)) ?? 0

/** Returns the sum of `spec.replicas`. */
export const wantedByAll = (sets: ReadonlyArray<JsonObject>): number => sum(sets.map(wanted))

/** Returns the sum of a number of the statuses. */
export const countedOfAll = (sets: ReadonlyArray<JsonObject>, field: string): number =>
  sum(sets.map((set) => counted(set, field)))

/** Returns the ReplicaSets with `spec.replicas` above 0. */
export const active = (sets: ReadonlyArray<JsonObject>): ReadonlyArray<JsonObject> =>
  sets.filter((set) => wanted(set) > 0)

/** Whether the strategy is RollingUpdate. */
export const isRolling = (deployment: JsonObject): boolean =>
  at(deployment, "spec", "strategy", "type") === "RollingUpdate"

/** Returns the allowed numbers of surplus and unavailable pods. At least one of them is above 0. */
const fenceposts = (deployment: JsonObject): { readonly surge: number; readonly unavailable: number } => {
  const parameter = (name: string) => at(deployment, "spec", "strategy", "rollingUpdate", name)
  const surge = scaled(parameter("maxSurge"), wanted(deployment), Math.ceil)
  const unavailable = scaled(parameter("maxUnavailable"), wanted(deployment), Math.floor)
  return { surge, unavailable: surge === 0 && unavailable === 0 ? 1 : unavailable }
}

const scaled = (value: Json | undefined, total: number, round: (value: number) => number): number =>
  typeof value === "string" ? round((Number.parseInt(value, 10) * total) / 100) : (number(value) ?? 0)

/** Returns the number of pods that are allowed beyond `replicas`. */
export const maxSurge = (deployment: JsonObject): number => (isRolling(deployment) ? fenceposts(deployment).surge : 0)

/** Returns the number of pods that may be unavailable. */
export const maxUnavailable = (deployment: JsonObject): number =>
  isRolling(deployment) ? Math.min(fenceposts(deployment).unavailable, wanted(deployment)) : 0

/** A ReplicaSet and its next number of replicas. */
export type Step = readonly [set: JsonObject, replicas: number]

/** Returns the replicas that the new ReplicaSet may have now, beside the old ones. */
export const newReplicas = (deployment: JsonObject, old: ReadonlyArray<JsonObject>, now: number): number => {
  const total = wanted(deployment)
  if (!isRolling(deployment)) return total
  const room = total + maxSurge(deployment) - wantedByAll(old) - now
  return room <= 0 ? now : now + Math.min(room, total - now)
}

/** Sorts ReplicaSets, the oldest first. */
export const byAge = (sets: ReadonlyArray<JsonObject>): ReadonlyArray<JsonObject> =>
  sets.toSorted((one, other) => createdAt(one) - createdAt(other) || byName(one, other))

const byName = (one: JsonObject, other: JsonObject): number => (nameOf(one) < nameOf(other) ? -1 : 1)

/** Scales down old ReplicaSets in a rolling update. Unavailable pods go first. If there are none, as many pods go as the limit allows. */
export const scaleDown = (
  deployment: JsonObject,
  fresh: JsonObject,
  old: ReadonlyArray<JsonObject>
): ReadonlyArray<Step> => {
  const sets = byAge(active(old))
  const available = (set: JsonObject) => counted(set, "availableReplicas")
  const minAvailable = wanted(deployment) - maxUnavailable(deployment)
  const room = wantedByAll(sets) + available(fresh) - minAvailable
  // A ReplicaSet with surplus available pods was just scaled down, and its status is stale.
  if (room <= 0 || sets.some((set) => available(set) > wanted(set))) return []
  const lame = taken(sets, room, (set) => wanted(set) - available(set))
  return lame.length > 0
    ? lame
    : taken(sets, countedOfAll([...sets, fresh], "availableReplicas") - minAvailable, wanted)
}

/** Takes `total` replicas from the ReplicaSets in order. `has` returns the limit of each one. */
const taken = (
  sets: ReadonlyArray<JsonObject>,
  total: number,
  has: (set: JsonObject) => number
): ReadonlyArray<Step> => {
  let left = Math.max(0, total)
  return sets.flatMap((set): ReadonlyArray<Step> => {
    const number = Math.min(left, has(set))
    left -= number
    return number > 0 ? [[set, wanted(set) - number]] : []
  })
}

/** Scales several ReplicaSets in proportion to their sizes after a change of `replicas`. */
export const proportionally = (deployment: JsonObject, all: ReadonlyArray<JsonObject>): ReadonlyArray<Step> => {
  const total = wanted(deployment)
  const toAdd = (total > 0 ? total + maxSurge(deployment) : 0) - wantedByAll(all)
  const sets = bySize(active(all), toAdd > 0)
  let added = 0
  const sizes = sets.map((set) => {
    const share = toAdd === 0 || toAdd === added ? 0 : fraction(set, deployment)
    const change = toAdd > 0 ? Math.min(share, toAdd - added) : Math.max(share, toAdd - added)
    added += toAdd === 0 ? 0 : change
    return wanted(set) + (toAdd === 0 ? 0 : change)
  })
  return sets.map((set, index) => {
    const size = sizes[index] ?? 0
    return [set, index === 0 ? Math.max(0, size + toAdd - added) : size]
  })
}

/** Sorts by size, the largest first. For the same size, the newer or the older first. */
const bySize = (sets: ReadonlyArray<JsonObject>, newer: boolean): ReadonlyArray<JsonObject> =>
  sets.toSorted(
    (one, other) =>
      wanted(other) - wanted(one) ||
      (newer ? createdAt(other) - createdAt(one) : createdAt(one) - createdAt(other)) ||
      (newer ? byName(other, one) : byName(one, other))
  )

/** Returns the change of a ReplicaSet's replicas that keeps its proportion. */
const fraction = (set: JsonObject, deployment: JsonObject): number => {
  if (wanted(deployment) === 0) return -wanted(set)
  const before = count(annotationsOf(set)[maxAnnotation]) || counted(deployment, "replicas")
  if (before === 0) return 0
  return Math.round((wanted(set) * (wanted(deployment) + maxSurge(deployment))) / before) - wanted(set)
}

/** Returns the number in an annotation; undefined if the annotation is missing or not a number. */
export const count = (annotation: string | undefined): number | undefined =>
  annotation !== undefined && /^\d+$/.test(annotation) ? Number(annotation) : undefined

const sum = (numbers: ReadonlyArray<number>): number => numbers.reduce((one, other) => one + other, 0)
