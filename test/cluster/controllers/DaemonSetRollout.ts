/** The rolling update of a DaemonSet. It deletes some old pods, or creates some new pods beside them. */
import { at, type Json, type JsonObject, number } from "@homeostat/apiserver/model/Json"
import { isDeleting, nameOf } from "@homeostat/apiserver/model/ObjectMeta"
import * as DaemonPods from "./DaemonPods.ts"
import { isAvailable } from "./ManagedPods.ts"

/** A DaemonSet with its nodes and pods. */
export interface State {
  readonly set: JsonObject
  readonly nodes: ReadonlyArray<JsonObject>
  readonly pods: ReadonlyMap<string, ReadonlyArray<JsonObject>>
  /** The hash of the newest template. */
  readonly hash: string
  readonly now: number
}

/** The nodes that get a pod, and the pods to delete. */
export interface Changes {
  readonly create: ReadonlyArray<string>
  readonly remove: ReadonlyArray<JsonObject>
}

const scaled = (value: Json | undefined, nodes: number): number =>
  typeof value === "string" ? Math.ceil((Number.parseInt(value, 10) * nodes) / 100) : (number(value) ?? 0)

const parameter = (set: JsonObject, name: "maxSurge" | "maxUnavailable", nodes: number): number =>
  at(set, "spec", "updateStrategy", "type") === "RollingUpdate"
    ? scaled(at(set, "spec", "updateStrategy", "rollingUpdate", name), nodes)
    : 0

/** Whether a node may run a new pod beside the old one. */
export const allowsSurge = (set: JsonObject): boolean => parameter(set, "maxSurge", 1) > 0

/** Splits the pods of a node by their template; undefined if the node has several pods of one template. */
const split = (
  { hash, set }: State,
  pods: ReadonlyArray<JsonObject>
): { readonly fresh: JsonObject | undefined; readonly old: JsonObject | undefined } | undefined => {
  const living = pods.filter((pod) => !isDeleting(pod))
  const [fresh, ...others] = living.filter((pod) => DaemonPods.isUpdated(set, pod, hash))
  const [old, ...more] = living.filter((pod) => !DaemonPods.isUpdated(set, pod, hash))
  return others.length > 0 || more.length > 0 ? undefined : { fresh, old }
}

/** Returns the next step of a rolling update. */
export const step = (state: State): Changes => {
  const { nodes, set } = state
  const running = nodes.filter((node) => DaemonPods.shouldRun(set, node).runs)
  const surge = parameter(set, "maxSurge", running.length)
  const unavailable = parameter(set, "maxUnavailable", running.length)
  const pods = new Map([...running.map((node) => [nameOf(node), []] as const), ...state.pods])
  return surge === 0
    ? { create: [], remove: replaced(state, pods, Math.max(1, unavailable)) }
    : surged(state, pods, surge, running.length)
}

type Pods = ReadonlyMap<string, ReadonlyArray<JsonObject>>

/** Returns the old pods to delete, so that at most `most` nodes are without an available pod. */
const replaced = (state: State, pods: Pods, most: number): ReadonlyArray<JsonObject> => {
  const { now, set } = state
  const allowed: Array<JsonObject> = []
  const candidates: Array<JsonObject> = []
  let unavailable = 0
  for (const onNode of pods.values()) {
    const { fresh, old } = split(state, onNode) ?? {}
    if ((old === undefined) === (fresh === undefined)) unavailable++
    else if (fresh !== undefined) unavailable += isAvailable(set, fresh, now) ? 0 : 1
    else if (old !== undefined && !isAvailable(set, old, now)) {
      allowed.push(old)
      unavailable++
    } else if (old !== undefined && unavailable < most) candidates.push(old)
  }
  return [...allowed, ...candidates.slice(0, Math.max(0, most - unavailable))]
}

/** Returns the nodes that get a new pod beside the old one, and the old pods whose new pod is available. */
const surged = (state: State, pods: Pods, most: number, desired: number): Changes => {
  const { now, set } = state
  const byName = new Map(state.nodes.map((node) => [nameOf(node), node]))
  const remove: Array<JsonObject> = []
  const misplaced: Array<JsonObject> = []
  const allowed: Array<string> = []
  const candidates: Array<string> = []
  let surge = 0
  let available = 0
  for (const [name, onNode] of pods) {
    const found = split(state, onNode)
    if (found === undefined) {
      surge++
      continue
    }
    const { fresh, old } = found
    const first = old ?? fresh
    if (first !== undefined && isAvailable(set, first, now)) available++
    if (old === undefined) continue
    if (fresh !== undefined) {
      if (isAvailable(set, fresh, now)) remove.push(old)
      else surge++
      continue
    }
    const node = byName.get(name)
    const runs = node !== undefined && DaemonPods.shouldRun(set, node).runs
    if (!isAvailable(set, old, now)) {
      if (runs) allowed.push(name)
      else remove.push(old)
    } else if (!runs) misplaced.push(old)
    else if (surge < most) candidates.push(name)
  }
  return {
    create: [...allowed, ...candidates.slice(0, Math.max(0, most - surge))],
    remove: [...remove, ...misplaced.slice(0, Math.max(0, available - desired))]
  }
}
