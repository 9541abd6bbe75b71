/** The resources of nodes: the requests of their pods, and the resources that a pod lacks on a node. */
import * as PodResources from "@homeostat/apiserver/kinds/pods/PodResources"
import { at, type Json, type JsonObject } from "@homeostat/apiserver/model/Json"
import { isFinished, nodeOf } from "./ManagedPods.ts"

/** Amounts by resource, in billionths. */
export type Amounts = ReadonlyMap<string, bigint>

const nanos = (amounts: PodResources.Amounts): Map<string, bigint> =>
  new Map([...amounts].map(([name, quantity]) => [name, quantity.nanos]))

const amounts = (list: Json | undefined): Map<string, bigint> => nanos(PodResources.amounts(list))

const add = (sum: Map<string, bigint>, more: Amounts): Map<string, bigint> => {
  for (const [name, value] of more) sum.set(name, (sum.get(name) ?? 0n) + value)
  return sum
}

const known = new WeakMap<JsonObject, Amounts>()

/** Returns the requests of a pod, including its overhead. */
export const requestsOf = (pod: JsonObject): Amounts => {
  const before = known.get(pod)
  if (before !== undefined) return before
  const sum = add(nanos(PodResources.requestsOf(pod)), amounts(at(pod, "spec", "overhead")))
  known.set(pod, sum)
  return sum
}

/** The resources in use on a node. */
export interface Usage {
  readonly pods: number
  readonly requests: Amounts
}

/** Returns the usage of each node, by name. */
export const usage = (pods: ReadonlyArray<JsonObject>): ReadonlyMap<string, Usage> => {
  const nodes = new Map<string, { pods: number; requests: Map<string, bigint> }>()
  for (const pod of pods) {
    const name = nodeOf(pod)
    if (name === "" || isFinished(pod)) continue
    const used = nodes.get(name) ?? { pods: 0, requests: new Map() }
    used.pods++
    add(used.requests, requestsOf(pod))
    nodes.set(name, used)
  }
  return nodes
}

/** The resources that a pod lacks on a node. */
export interface Lack {
  /** The reasons, such as `Insufficient cpu`. */
  readonly reasons: ReadonlyArray<string>
  /** Whether the pod would not fit even on the empty node. */
  readonly isHopeless: boolean
}

const first = ["cpu", "memory", "ephemeral-storage"]

/** Returns the resources that a pod lacks on a node with this usage; undefined if it fits. */
export const lack = (pod: JsonObject, node: JsonObject, used: Usage | undefined): Lack | undefined => {
  const allocatable = amounts(at(node, "status", "allocatable"))
  const reasons: Array<string> = []
  let isHopeless = false
  if (BigInt((used?.pods ?? 0) + 1) * 1_000_000_000n > (allocatable.get("pods") ?? 0n)) reasons.push("Too many pods")
  const requests = requestsOf(pod)
  const others = [...requests.keys()].filter((name) => !first.includes(name)).toSorted()
  for (const name of [...first, ...others]) {
    const wanted = requests.get(name) ?? 0n
    const all = allocatable.get(name) ?? 0n
    if (wanted === 0n || wanted <= all - (used?.requests.get(name) ?? 0n)) continue
    reasons.push(`Insufficient ${name}`)
    if (wanted > all) isHopeless = true
  }
  return reasons.length === 0 ? undefined : { reasons, isHopeless }
}
