/**
 * The scheduler assigns pods to nodes. A node must be ready, and must not be cordoned or have a taint that the pod does not tolerate. The
 * labels of the node must match the pod, including the required affinity of the pod and of its volumes. The node must have the requested
 * resources. Among several nodes, the scheduler chooses the one with the fewest pods. A pod with unbound claims waits for them.
 *
 * Not supported: preferences, affinity to other pods, host ports, preemption.
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

/** Whether a pod waits for this scheduler. */
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

/** A pod with the objects that matter for its node. */
interface Wanted {
  readonly pod: JsonObject
  /** The volumes that are bound to the claims of the pod. */
  readonly volumes: ReadonlyArray<JsonObject>
  /** Whether another pod uses a claim that only one pod may use. */
  readonly isTaken: boolean
  /** The usage of the other pods by node. */
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

/** Why a node does not fit a pod. */
interface Misfit {
  readonly reasons: ReadonlyArray<string>
  /** Whether the end of another pod could make the node fit. */
  readonly isResolvable: boolean
}

/** Returns the first failed filter of the real scheduler; undefined if the node fits the pod. */
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

/** Returns why the spec and the labels of a node exclude a pod; undefined if they do not. */
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

/** The taint that the node lifecycle controller would set on a node that is not ready. */
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
  // The scheduler preempts no pods.
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

/** Returns the message for a pod with an unbound claim; undefined if all claims are bound. */
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

/** Returns the names of the claims of a pod. */
export const claimsOf = (pod: JsonObject): ReadonlyArray<string> =>
  objects(at(pod, "spec", "volumes"))
    .map((volume) => text(at(volume, "persistentVolumeClaim", "claimName")))
    .filter((name) => name !== undefined)

/** Reports why no node fits, if the pod does not report it yet. */
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
    // An ended pod frees its resources.
    const isFreed = nodeOf(object) !== "" && (type === "DELETED" || (isFinished(object) && !isFinished(previous ?? {})))
    return isFreed ? snapshot.list(Storages.pods).filter(isWaiting).map(keyOfObject) : []
  }
  const isSame = (...path: ReadonlyArray<string>) => equal(at(object, ...path), at(previous, ...path))
  if (storage === Storages.nodes) {
    // A deleted node does not help a waiting pod.
    if (type === "DELETED") return []
    // A node sends a heartbeat every few seconds.
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
