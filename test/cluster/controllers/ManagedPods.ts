/**
 * What controllers know about pods: their state, making them from a template, and which to take away first.
 */
import {
  at,
  copy,
  type DraftObject,
  type JsonObject,
  number,
  object,
  objects,
  text
} from "@homeostat/apiserver/model/Json"
import {
  annotationsOf,
  controllerReference,
  createdAt,
  isDeleting,
  millisOf,
  nameOf,
  namespaceOf,
  prefixOf,
  uidOf
} from "@homeostat/apiserver/model/ObjectMeta"

/** Pending, Running, … */
export const phaseOf = (pod: JsonObject): string => text(at(pod, "status", "phase")) ?? ""

/** The node it is on; empty: none yet. */
export const nodeOf = (pod: JsonObject): string => text(at(pod, "spec", "nodeName")) ?? ""

/** Whether it has ended, for better or worse. */
export const isFinished = (pod: JsonObject): boolean => ["Succeeded", "Failed"].includes(phaseOf(pod))

/** Whether it counts as a replica: it has not ended and is not about to. */
export const isActive = (pod: JsonObject): boolean => !isFinished(pod) && !isDeleting(pod)

/** Whether it is being deleted and still runs. */
export const isTerminating = (pod: JsonObject): boolean => !isFinished(pod) && isDeleting(pod)

/** One of its conditions. */
export const conditionOf = (pod: JsonObject, type: string): JsonObject | undefined =>
  objects(at(pod, "status", "conditions")).find((condition) => condition.type === type)

/** Whether it serves. */
export const isReady = (pod: JsonObject): boolean => conditionOf(pod, "Ready")?.status === "True"

/** When it became ready. */
const readySince = (pod: JsonObject): number | undefined =>
  isReady(pod) ? millisOf(conditionOf(pod, "Ready")?.lastTransitionTime) : undefined

/** How many milliseconds are left until it has been ready for that long; 0: it has; undefined: it is not ready. */
export const untilAvailable = (pod: JsonObject, minReadySeconds: number, now: number): number | undefined => {
  if (!isReady(pod)) return undefined
  if (minReadySeconds === 0) return 0
  const since = readySince(pod)
  return since === undefined ? undefined : Math.max(0, since + minReadySeconds * 1000 - now)
}

/** A pod of a template, to be made for its owner. Its metadata are there to be added to. */
export const fromTemplate = (template: JsonObject, owner: JsonObject): DraftObject => {
  const { annotations, finalizers, labels } = object(template.metadata)
  return copy({
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      annotations,
      finalizers,
      labels,
      generateName: prefixOf(nameOf(owner)),
      namespace: namespaceOf(owner),
      ownerReferences: [controllerReference(owner)]
    },
    spec: object(template.spec)
  })
}

const phases = ["Pending", "Unknown", "Running"]

const deletionCost = (pod: JsonObject): number =>
  Number(annotationsOf(pod)["controller.kubernetes.io/pod-deletion-cost"] ?? 0) || 0

const restarts = (pod: JsonObject): number =>
  Math.max(0, ...objects(at(pod, "status", "containerStatuses")).map(({ restartCount }) => number(restartCount) ?? 0))

/** The order of magnitude of an age: what differs by less counts as equally old. An unknown age is the youngest. */
const magnitude = (since: number | undefined, now: number): number =>
  since !== undefined && now > since ? Math.trunc(Math.log2((now - since) * 1e6)) : -1

/** The younger first, roughly; among those of an age the uid decides, which is as good as chance. */
const byAge = (
  one: JsonObject,
  other: JsonObject,
  since: (pod: JsonObject) => number | undefined,
  now: number
): number => {
  if (since(one) === since(other)) return 0
  return magnitude(since(one), now) - magnitude(since(other), now) || (uidOf(one) < uidOf(other) ? -1 : 1)
}

/**
 * Which pods to take away first: those that serve least. `crowd` says how many pods of the same kind share a pod's node.
 */
export const mostExpendable = (
  pods: ReadonlyArray<JsonObject>,
  now: number,
  crowd: (pod: JsonObject) => number
): ReadonlyArray<JsonObject> =>
  pods.toSorted(
    (one, other) =>
      Number(nodeOf(one) !== "") - Number(nodeOf(other) !== "") ||
      phases.indexOf(phaseOf(one)) - phases.indexOf(phaseOf(other)) ||
      Number(isReady(one)) - Number(isReady(other)) ||
      deletionCost(one) - deletionCost(other) ||
      crowd(other) - crowd(one) ||
      byAge(one, other, readySince, now) ||
      restarts(other) - restarts(one) ||
      byAge(one, other, createdAt, now)
  )
