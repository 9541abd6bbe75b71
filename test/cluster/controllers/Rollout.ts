/**
 * The arithmetic of rollouts: how many pods a Deployment may have and lack, and how its ReplicaSets share them.
 */
import { at, type Json, type JsonObject, number } from "@homeostat/apiserver/model/Json"
import { annotationsOf, createdAt, nameOf } from "@homeostat/apiserver/model/ObjectMeta"

/** On the ReplicaSets of a Deployment: how many pods it wanted when it was last scaled. */
export const desiredAnnotation = "deployment.kubernetes.io/desired-replicas"

/** How many it could have then. */
export const maxAnnotation = "deployment.kubernetes.io/max-replicas"

/** The replicas that are asked for. */
export const wanted = (object: JsonObject): number => number(at(object, "spec", "replicas")) ?? 0

/** A number of its status; 0 where there is none. */
export const counted = (object: JsonObject, field: string): number => number(at(object, "status", field)) ?? 0

/** The sum of what is asked for. */
export const wantedByAll = (sets: ReadonlyArray<JsonObject>): number => sum(sets.map(wanted))

/** The sum of a number of their status. */
export const countedOfAll = (sets: ReadonlyArray<JsonObject>, field: string): number =>
  sum(sets.map((set) => counted(set, field)))

/** Those that are to have pods. */
export const active = (sets: ReadonlyArray<JsonObject>): ReadonlyArray<JsonObject> =>
  sets.filter((set) => wanted(set) > 0)

/** Whether old pods make room for new ones step by step. */
export const isRolling = (deployment: JsonObject): boolean =>
  at(deployment, "spec", "strategy", "type") === "RollingUpdate"

/** How many pods more, and how many fewer there may be than wanted. Both can't be none. */
const fenceposts = (deployment: JsonObject): { readonly surge: number; readonly unavailable: number } => {
  const parameter = (name: string) => at(deployment, "spec", "strategy", "rollingUpdate", name)
  const surge = scaled(parameter("maxSurge"), wanted(deployment), Math.ceil)
  const unavailable = scaled(parameter("maxUnavailable"), wanted(deployment), Math.floor)
  return { surge, unavailable: surge === 0 && unavailable === 0 ? 1 : unavailable }
}

const scaled = (value: Json | undefined, total: number, round: (value: number) => number): number =>
  typeof value === "string" ? round((Number.parseInt(value, 10) * total) / 100) : (number(value) ?? 0)

/** How many pods more than wanted there may be. */
export const maxSurge = (deployment: JsonObject): number => (isRolling(deployment) ? fenceposts(deployment).surge : 0)

/** How many pods fewer than wanted there may be. */
export const maxUnavailable = (deployment: JsonObject): number =>
  isRolling(deployment) ? Math.min(fenceposts(deployment).unavailable, wanted(deployment)) : 0

/** A ReplicaSet and how many replicas it shall have. */
export type Step = readonly [set: JsonObject, replicas: number]

/** How many replicas the new ReplicaSet may have now, besides these old ones. */
export const newReplicas = (deployment: JsonObject, old: ReadonlyArray<JsonObject>, now: number): number => {
  const total = wanted(deployment)
  if (!isRolling(deployment)) return total
  const room = total + maxSurge(deployment) - wantedByAll(old) - now
  return room <= 0 ? now : now + Math.min(room, total - now)
}

/** The older first. */
export const byAge = (sets: ReadonlyArray<JsonObject>): ReadonlyArray<JsonObject> =>
  sets.toSorted((one, other) => createdAt(one) - createdAt(other) || byName(one, other))

const byName = (one: JsonObject, other: JsonObject): number => (nameOf(one) < nameOf(other) ? -1 : 1)

/**
 * Which old ReplicaSets to make smaller in a rolling update: first by their pods that don't serve anyway, and when there are
 * none of these, by as many as can be spared.
 */
export const scaleDown = (
  deployment: JsonObject,
  fresh: JsonObject,
  old: ReadonlyArray<JsonObject>
): ReadonlyArray<Step> => {
  const sets = byAge(active(old))
  const available = (set: JsonObject) => counted(set, "availableReplicas")
  const minAvailable = wanted(deployment) - maxUnavailable(deployment)
  const room = wantedByAll(sets) + available(fresh) - minAvailable
  // One that has more than it shall have was made smaller a moment ago: what it says of itself is not true any more.
  if (room <= 0 || sets.some((set) => available(set) > wanted(set))) return []
  const lame = taken(sets, room, (set) => wanted(set) - available(set))
  return lame.length > 0
    ? lame
    : taken(sets, countedOfAll([...sets, fresh], "availableReplicas") - minAvailable, wanted)
}

/** Takes that many from the first ones, as many as each has to give. */
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

/** How to follow a change of the number of replicas while the pods are of several ReplicaSets: each by its share. */
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

/** The larger first; of the same size the newer or the older. */
const bySize = (sets: ReadonlyArray<JsonObject>, newer: boolean): ReadonlyArray<JsonObject> =>
  sets.toSorted(
    (one, other) =>
      wanted(other) - wanted(one) ||
      (newer ? createdAt(other) - createdAt(one) : createdAt(one) - createdAt(other)) ||
      (newer ? byName(other, one) : byName(one, other))
  )

/** By how much a ReplicaSet has to change to keep its share. */
const fraction = (set: JsonObject, deployment: JsonObject): number => {
  if (wanted(deployment) === 0) return -wanted(set)
  const before = count(annotationsOf(set)[maxAnnotation]) || counted(deployment, "replicas")
  if (before === 0) return 0
  return Math.round((wanted(set) * (wanted(deployment) + maxSurge(deployment))) / before) - wanted(set)
}

/** A number in an annotation; undefined where there is none. */
export const count = (annotation: string | undefined): number | undefined =>
  annotation !== undefined && /^\d+$/.test(annotation) ? Number(annotation) : undefined

const sum = (numbers: ReadonlyArray<number>): number => numbers.reduce((one, other) => one + other, 0)
