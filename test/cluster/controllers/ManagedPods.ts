/** Pods of controllers: their states, their creation from a template, and the order of their deletion. */
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

/** Returns the phase of a pod: Pending, Running, … */
export const phaseOf = (pod: JsonObject): string => text(at(pod, "status", "phase")) ?? ""

/** Returns the node of a pod; empty if the pod is not scheduled. */
export const nodeOf = (pod: JsonObject): string => text(at(pod, "spec", "nodeName")) ?? ""

/** Whether a pod has succeeded or failed. */
export const isFinished = (pod: JsonObject): boolean => ["Succeeded", "Failed"].includes(phaseOf(pod))

/** Whether a pod counts as a replica: it has not ended, and is not being deleted. */
export const isActive = (pod: JsonObject): boolean => !isFinished(pod) && !isDeleting(pod)

/** Whether a pod is being deleted and has not ended. */
export const isTerminating = (pod: JsonObject): boolean => !isFinished(pod) && isDeleting(pod)

/** Returns a condition of a pod. */
export const conditionOf = (pod: JsonObject, type: string): JsonObject | undefined =>
  objects(at(pod, "status", "conditions")).find((condition) => condition.type === type)

/** Whether a pod is Ready. */
export const isReady = (pod: JsonObject): boolean => conditionOf(pod, "Ready")?.status === "True"

/** Returns the time in milliseconds at which a pod became Ready. */
const readySince = (pod: JsonObject): number | undefined =>
  isReady(pod) ? millisOf(conditionOf(pod, "Ready")?.lastTransitionTime) : undefined

/** Returns the milliseconds until a pod has been ready for `minReadySeconds`; 0 if it has; undefined if it is not ready. */
export const untilAvailable = (pod: JsonObject, minReadySeconds: number, now: number): number | undefined => {
  if (!isReady(pod)) return undefined
  if (minReadySeconds === 0) return 0
  const since = readySince(pod)
  return since === undefined ? undefined : Math.max(0, since + minReadySeconds * 1000 - now)
}

const minReadySecondsOf = (owner: JsonObject): number => number(at(owner, "spec", "minReadySeconds")) ?? 0

/** Whether a pod has been ready for the `minReadySeconds` of its owner. */
export const isAvailable = (owner: JsonObject, pod: JsonObject, now: number): boolean =>
  untilAvailable(pod, minReadySecondsOf(owner), now) === 0

/** Returns the milliseconds until the next pod of an owner becomes available; undefined if no pod waits for that. */
export const untilNextAvailable = (
  owner: JsonObject,
  pods: ReadonlyArray<JsonObject>,
  now: number
): number | undefined => {
  const seconds = minReadySecondsOf(owner)
  const waits = pods.map((pod) => untilAvailable(pod, seconds, now) ?? 0).filter((wait) => wait > 0)
  return waits.length === 0 ? undefined : Math.min(...waits)
}

/** Returns a pod from a template for an owner. The caller may add to its metadata. */
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

/** The magnitude of an age. Ages of the same magnitude count as equal. An unknown age counts as the youngest. */
const magnitude = (since: number | undefined, now: number): number =>
  since !== undefined && now > since ? Math.trunc(Math.log2((now - since) * 1e6)) : -1

/** Compares pods by the magnitude of their age, the younger first. For equal ages, the uid decides, as a random order would. */
const byAge = (
  one: JsonObject,
  other: JsonObject,
  since: (pod: JsonObject) => number | undefined,
  now: number
): number => {
  if (since(one) === since(other)) return 0
  return magnitude(since(one), now) - magnitude(since(other), now) || (uidOf(one) < uidOf(other) ? -1 : 1)
}

/** Sorts the pods for deletion, the least useful first. `crowd` returns how many related pods run on the node of a pod. */
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
