/**
 * The scheduler: gives pods to nodes that are ready, not cordoned, not tainted, and have the labels that the pod asks for; of
 * several to the one with the fewest pods. What it requires by affinity, of its own or of its volumes, counts as well. A pod whose
 * claims are not bound waits for that.
 *
 * A node has to have the resources that the pod requests.
 *
 * Left out: what is only preferred, affinity to other pods, ports, preemption.
 */

import { at, equal, type JsonObject, list, number, objects, text, texts } from "@homeostat/apiserver/model/Json"
import {
  isDeleting,
  keyOfObject,
  labelsOf,
  nameOf,
  namespaceOf,
  ofKey,
  uidOf
} from "@homeostat/apiserver/model/ObjectMeta"
import { timestamp } from "@homeostat/apiserver/model/Timestamp"
import type { Change } from "@homeostat/apiserver/storage/Store"
import { type BuiltInController, nothing, type Pass, type Snapshot, type Write } from "./BuiltInController.ts"
import { isFinished, nodeOf } from "./ManagedPods.ts"
import * as NodeResources from "./NodeResources.ts"
import * as NodeSelector from "./NodeSelector.ts"
import * as Storages from "./Storages.ts"

const schedulerName = "default-scheduler"

/** Whether a pod waits for a node from this scheduler. */
const isWaiting = (pod: JsonObject): boolean =>
  nodeOf(pod) === "" &&
  !isDeleting(pod) &&
  !isFinished(pod) &&
  (at(pod, "spec", "schedulerName") ?? schedulerName) === schedulerName &&
  list(at(pod, "spec", "schedulingGates")).length === 0

const reconcile = (snapshot: Snapshot, key: string, now: number): Pass => {
  const pod = snapshot.get(Storages.pods, ...ofKey(key))
  if (pod === undefined || !isWaiting(pod)) return nothing
  const nodes = snapshot.list(Storages.nodes)
  const refused = nodes.length === 0 ? "no nodes available to schedule pods" : unbound(snapshot, pod, nodes.length)
  if (refused !== undefined) return { writes: unschedulable(pod, refused, now) }
  const wanted = wantedOf(snapshot, pod)
  const fitting = nodes.filter((node) => misfit(wanted, node) === undefined)
  const node = fitting.length > 1 ? leastCrowded(snapshot, fitting) : fitting[0]
  return {
    writes: node === undefined ? unschedulable(pod, noneFits(wanted, nodes), now) : bind(pod, nameOf(node))
  }
}

const bind = (pod: JsonObject, node: string): ReadonlyArray<Write> => [
  {
    verb: "create",
    subresource: "binding",
    object: {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: nameOf(pod), namespace: namespaceOf(pod), uid: uidOf(pod) },
      target: { kind: "Node", name: node }
    },
    done: () => [
      {
        verb: "record",
        about: pod,
        type: "Normal",
        reason: "Scheduled",
        action: "Binding",
        message: `Successfully assigned ${keyOfObject(pod)} to ${node}`
      }
    ]
  }
]

/** A pod, and what matters for it of what else there is. */
interface Wanted {
  readonly pod: JsonObject
  /** The volumes that are bound to its claims. */
  readonly volumes: ReadonlyArray<JsonObject>
  /** Another pod has a claim that only one may have. */
  readonly isTaken: boolean
  /** What the other pods of each node use. */
  readonly usage: ReadonlyMap<string, NodeResources.Usage>
}

const wantedOf = (snapshot: Snapshot, pod: JsonObject): Wanted => {
  const namespace = namespaceOf(pod)
  const claims = claimsOf(pod)
    .map((name) => snapshot.get(Storages.claims, namespace, name))
    .filter((claim) => claim !== undefined)
  const lone = claims.filter((claim) => list(at(claim, "spec", "accessModes")).includes("ReadWriteOncePod")).map(nameOf)
  return {
    pod,
    usage: NodeResources.usage(snapshot.list(Storages.pods)),
    volumes: claims
      .map((claim) => snapshot.get(Storages.volumes, "", text(at(claim, "spec", "volumeName")) ?? ""))
      .filter((volume) => volume !== undefined),
    isTaken:
      lone.length > 0 &&
      snapshot
        .list(Storages.pods, namespace)
        .some(
          (other) => nodeOf(other) !== "" && !isFinished(other) && claimsOf(other).some((one) => lone.includes(one))
        )
  }
}

const taken =
  "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"

/** Why a node is not for a pod. */
interface Misfit {
  readonly reasons: ReadonlyArray<string>
  /** The end of another pod could change it. */
  readonly isResolvable: boolean
}

/** Why a node is not for a pod, by the first test of the real scheduler that fails; undefined: it is. */
const misfit = (wanted: Wanted, node: JsonObject): Misfit | undefined => {
  const refused = placement(wanted, node)
  if (refused !== undefined) return { reasons: [refused], isResolvable: false }
  const lack = NodeResources.lack(wanted.pod, node, wanted.usage.get(nameOf(node)))
  if (lack !== undefined) return { reasons: lack.reasons, isResolvable: !lack.isHopeless }
  if (wanted.isTaken) return { reasons: [taken], isResolvable: true }
  return wanted.volumes.every((volume) => NodeSelector.admits(at(volume, "spec", "nodeAffinity", "required"), node))
    ? undefined
    : { reasons: ["node(s) didn't match PersistentVolume's node affinity"], isResolvable: false }
}

/** Why the spec and the labels of a node exclude a pod. */
const placement = ({ pod }: Wanted, node: JsonObject): string | undefined => {
  const affinity = at(pod, "spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
  if (NodeSelector.named(affinity)?.has(nameOf(node)) === false)
    return "node(s) didn't satisfy plugin(s) [NodeAffinity]"
  if (at(node, "spec", "unschedulable") === true && !isTolerated(pod, cordoned)) return "node(s) were unschedulable"
  const taints = [...objects(at(node, "spec", "taints")), ...(isReady(node) ? [] : [notReady])]
  const taint = taints.find((one) => one.effect !== "PreferNoSchedule" && !isTolerated(pod, one))
  if (taint !== undefined) return "node(s) had untolerated taint(s)"
  const labels = labelsOf(node)
  const isSelected = Object.entries(texts(at(pod, "spec", "nodeSelector"))).every(
    ([name, value]) => labels[name] === value
  )
  return isSelected && NodeSelector.admits(affinity, node)
    ? undefined
    : "node(s) didn't match Pod's node affinity/selector"
}

/** What the node lifecycle controller would put on a node that is not ready. */
const notReady: JsonObject = { key: "node.kubernetes.io/not-ready", effect: "NoSchedule" }

/** The taint of a cordoned node. */
const cordoned: JsonObject = { key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" }

const isReady = (node: JsonObject): boolean =>
  objects(at(node, "status", "conditions")).some(({ status, type }) => type === "Ready" && status === "True")

/** Whether a pod tolerates a taint. */
export const isTolerated = (pod: JsonObject, taint: JsonObject): boolean =>
  objects(at(pod, "spec", "tolerations")).some(({ effect, key, operator, value }) => {
    if (effect !== undefined && effect !== taint.effect) return false
    if (key !== undefined && key !== taint.key) return false
    return operator === "Exists" || (key !== undefined && (value ?? "") === (taint.value ?? ""))
  })

const leastCrowded = (snapshot: Snapshot, nodes: ReadonlyArray<JsonObject>): JsonObject | undefined => {
  const counts = new Map<string, number>()
  for (const pod of snapshot.list(Storages.pods)) counts.set(nodeOf(pod), (counts.get(nodeOf(pod)) ?? 0) + 1)
  const count = (node: JsonObject) => counts.get(nameOf(node)) ?? 0
  return nodes.toSorted((one, other) => count(one) - count(other))[0]
}

const noneFits = (wanted: Wanted, nodes: ReadonlyArray<JsonObject>): string => {
  const misfits = nodes.map((node) => misfit(wanted, node)).filter((one) => one !== undefined)
  const reasons = misfits.flatMap((one) => one.reasons)
  // No pod is ended for another one.
  const hopes = misfits.map(({ isResolvable }) =>
    isResolvable ? "No preemption victims found for incoming pod." : "Preemption is not helpful for scheduling."
  )
  const none = `0/${nodes.length} nodes are available`
  return `${none}: ${counted(reasons)}. preemption: ${none}: ${counted(hopes)}`
}

const counted = (reasons: ReadonlyArray<string>): string =>
  [...Map.groupBy(reasons, (reason) => reason)]
    .map(([reason, all]) => `${all.length} ${reason}`)
    .sort()
    .join(", ")

/** What is said of a pod with a claim that no volume is bound to; undefined: there is none. */
const unbound = (snapshot: Snapshot, pod: JsonObject, nodes: number): string | undefined => {
  for (const name of claimsOf(pod)) {
    const claim = snapshot.get(Storages.claims, namespaceOf(pod), name)
    const none = `0/${nodes} nodes are available`
    if (claim === undefined) return `${none}: persistentvolumeclaim ${JSON.stringify(name)} not found. not found`
    if (isDeleting(claim)) return `${none}: persistentvolumeclaim ${JSON.stringify(name)} is being deleted. not found`
    if (at(claim, "status", "phase") !== "Bound") {
      return `${none}: pod has unbound immediate PersistentVolumeClaims. not found`
    }
  }
  return undefined
}

/** The claims that a pod uses. */
export const claimsOf = (pod: JsonObject): ReadonlyArray<string> =>
  objects(at(pod, "spec", "volumes"))
    .map((volume) => text(at(volume, "persistentVolumeClaim", "claimName")))
    .filter((name) => name !== undefined)

/** Tells why there is no node, unless it is told. */
const unschedulable = (pod: JsonObject, message: string, now: number): ReadonlyArray<Write> => {
  const before = objects(at(pod, "status", "conditions"))
  const old = before.find(({ type }) => type === "PodScheduled")
  const condition: JsonObject = {
    type: "PodScheduled",
    observedGeneration: number(at(pod, "metadata", "generation")),
    status: "False",
    lastProbeTime: null,
    lastTransitionTime: old?.status === "False" ? old.lastTransitionTime : timestamp(now),
    reason: "Unschedulable",
    message
  }
  if (old !== undefined && ["status", "reason", "message"].every((member) => old[member] === condition[member]))
    return []
  return [
    {
      verb: "patch",
      subresource: "status",
      object: pod,
      patch: {
        metadata: { uid: uidOf(pod) },
        status: { conditions: [...before.filter((one) => one !== old), condition] }
      }
    },
    { verb: "record", about: pod, type: "Warning", reason: "FailedScheduling", action: "Scheduling", message }
  ]
}

const keys = ({ object, previous, storage, type }: Change, snapshot: Snapshot): ReadonlyArray<string> => {
  if (storage === Storages.pods) {
    if (type !== "DELETED" && isWaiting(object)) return [keyOfObject(object)]
    // The resources of a pod that has ended are free.
    const isFreed = nodeOf(object) !== "" && (type === "DELETED" || (isFinished(object) && !isFinished(previous ?? {})))
    return isFreed ? snapshot.list(Storages.pods).filter(isWaiting).map(keyOfObject) : []
  }
  const isSame = (...path: ReadonlyArray<string>) => equal(at(object, ...path), at(previous, ...path))
  if (storage === Storages.nodes) {
    // Where there is one less, nothing becomes possible.
    if (type === "DELETED") return []
    // A node tells that it lives every few seconds.
    const asBefore = previous !== undefined && isReady(previous) === isReady(object)
    const isUnchanged = isSame("spec") && isSame("metadata", "labels") && isSame("status", "allocatable")
    if (type === "MODIFIED" && asBefore && isUnchanged) return []
    return snapshot.list(Storages.pods).filter(isWaiting).map(keyOfObject)
  }
  return snapshot
    .list(Storages.pods, namespaceOf(object))
    .filter((pod) => isWaiting(pod) && claimsOf(pod).includes(nameOf(object)))
    .map(keyOfObject)
}

/** The scheduler. */
export const scheduler: BuiltInController = {
  name: "scheduler",
  manager: "kube-scheduler",
  component: schedulerName,
  storages: [Storages.pods, Storages.nodes, Storages.claims],
  keys,
  reconcile
}
