/**
 * The usage of objects under a ResourceQuota, by quota name: `pods`, `requests.cpu`, `count/deployments.apps`.
 * The admission plugin counts the object of a request. The controller counts all objects of a namespace.
 */
import { at, type Json, type JsonObject, number, object, objects, text } from "../../model/Json.ts"
import { annotationsOf } from "../../model/ObjectMeta.ts"
import type * as Quantity from "../../model/Quantity.ts"
import * as PodResources from "../pods/PodResources.ts"
import * as QualityOfService from "../pods/QualityOfService.ts"

/** Quantities by quota name. */
export type Usage = PodResources.Amounts

/** The resource of a counted object. */
export interface Counted {
  readonly group: string
  readonly plural: string
}

const whole = (count: number): Quantity.Quantity => ({ nanos: BigInt(count) * 1_000_000_000n, format: "DecimalSI" })

/** The core resources that quotas also count by their plural name. */
const plain = new Set(["configmaps", "resourcequotas", "replicationcontrollers", "secrets"])

const storageClassSuffix = ".storageclass.storage.k8s.io/"

/**
 * The usage of an object. `now`: the time in milliseconds since the epoch.
 * The quota names depend on the object only for storage classes and extended resources.
 */
export const of = (resource: Counted, counted: JsonObject, now: number): Usage => {
  const { group, plural } = resource
  const count = new Map([[`count/${plural}${group === "" ? "" : `.${group}`}`, whole(1)]])
  if (group !== "") return count
  if (plain.has(plural)) return count.set(plural, whole(1))
  if (plural === "pods") return isOver(counted, now) ? count : new Map([...count, ...ofPod(counted)])
  if (plural === "services") return new Map([...count, ...ofService(counted)])
  if (plural === "persistentvolumeclaims") return new Map([...count, ...ofClaim(counted)])
  return count
}

/** True if a Pod has finished, or if its grace period ended without its removal. */
const isOver = (pod: JsonObject, now: number): boolean => {
  const phase = at(pod, "status", "phase")
  const { deletionGracePeriodSeconds, deletionTimestamp } = object(pod.metadata)
  const deleted = Date.parse(text(deletionTimestamp) ?? "")
  return (
    phase === "Failed" ||
    phase === "Succeeded" ||
    (typeof deletionGracePeriodSeconds === "number" && now > deleted + deletionGracePeriodSeconds * 1000)
  )
}

const compute = ["cpu", "memory", "ephemeral-storage"]

const ofPod = (pod: JsonObject): Usage =>
  new Map([["pods", whole(1)], ...named(PodResources.requestsOf(pod), PodResources.limitsOf(pod))])

/** The quota names of requests and limits, with their quantities. */
const named = (requests: PodResources.Amounts, limits: PodResources.Amounts) => [
  ...[...requests].flatMap(([name, value]): ReadonlyArray<readonly [string, Quantity.Quantity]> => {
    const request = [`requests.${name}`, value] as const
    if (compute.includes(name) || name.startsWith("hugepages-")) return [[name, value], request]
    return isExtended(name) ? [request] : []
  }),
  ...[...limits].flatMap(([name, value]) => (compute.includes(name) ? [[`limits.${name}`, value] as const] : []))
]

const isExtended = (name: string): boolean =>
  name.includes("/") && !name.includes("kubernetes.io/") && !name.startsWith("requests.")

const ofService = (service: JsonObject): Usage => {
  const { allocateLoadBalancerNodePorts, ports, type } = object(service.spec)
  const isBalancer = type === "LoadBalancer"
  const all = objects(ports)
  const explicit = all.filter(({ nodePort }) => (number(nodePort) ?? 0) !== 0)
  const nodePorts =
    isBalancer && allocateLoadBalancerNodePorts === false
      ? explicit.length
      : isBalancer || type === "NodePort"
        ? all.length
        : 0
  return new Map([
    ["services", whole(1)],
    ["services.loadbalancers", whole(isBalancer ? 1 : 0)],
    ["services.nodeports", whole(nodePorts)]
  ])
}

const ofClaim = (claim: JsonObject): Usage => {
  const annotated = annotationsOf(claim)["volume.beta.kubernetes.io/storage-class"]
  const storageClass = annotated ?? text(at(claim, "spec", "storageClassName")) ?? ""
  const requested = PodResources.amounts(at(claim, "spec", "resources", "requests")).get("storage")
  const allocated = PodResources.amounts(at(claim, "status", "allocatedResources")).get("storage")
  const storage =
    requested !== undefined && allocated !== undefined && allocated.nanos > requested.nanos ? allocated : requested
  const names: ReadonlyArray<readonly [string, Quantity.Quantity]> = [
    ["persistentvolumeclaims", whole(1)],
    ...(storage === undefined ? [] : [["requests.storage", storage] as const])
  ]
  return new Map([
    ...names,
    ...(storageClass === ""
      ? []
      : names.map(([name, value]) => [`${storageClass}${storageClassSuffix}${name}`, value] as const))
  ])
}

/** True if the quota name applies to the resource. */
export const counts = ({ group, plural }: Counted, name: string): boolean => {
  if (name === `count/${plural}${group === "" ? "" : `.${group}`}`) return true
  if (group !== "") return false
  if (plain.has(plural)) return name === plural
  if (plural === "services") return /^services(\.loadbalancers|\.nodeports)?$/.test(name)
  if (plural === "persistentvolumeclaims") {
    return ["persistentvolumeclaims", "requests.storage"].some(
      (own) => name === own || name.endsWith(`${storageClassSuffix}${own}`)
    )
  }
  if (plural !== "pods") return false
  return (
    /^(pods|((requests|limits)\.)?(cpu|memory|ephemeral-storage)|(requests\.)?hugepages-.*)$/.test(name) ||
    (name.startsWith("requests.") && isExtended(name.slice("requests.".length)))
  )
}

/** The required CPU and memory names that containers lack, each with the sorted names of these containers. */
export const missing = (
  pod: JsonObject,
  names: ReadonlyArray<string>
): ReadonlyArray<readonly [string, ReadonlyArray<string>]> => {
  if (at(pod, "spec", "resources") !== undefined) return []
  const required = names.filter((name) => /^((requests|limits)\.)?(cpu|memory)$/.test(name)).sort()
  const containers = ["containers", "initContainers"].flatMap((list) => objects(at(pod, "spec", list)))
  return required.flatMap((name) => {
    const lacking = containers.filter(({ resources }) => {
      const own = named(PodResources.amounts(at(resources, "requests")), PodResources.amounts(at(resources, "limits")))
      return !own.some(([each]) => each === name)
    })
    return lacking.length === 0 ? [] : [[name, lacking.map((container) => text(container.name) ?? "").sort()] as const]
  })
}

/** True if the scopes of a quota select the object. Only Pods and PersistentVolumeClaims have scopes. */
export const isInScope = (quota: JsonObject, { group, plural }: Counted, counted: JsonObject): boolean => {
  const selectors = [
    ...texts(at(quota, "spec", "scopes")).map((scopeName) => ({ scopeName, operator: "Exists" })),
    ...objects(at(quota, "spec", "scopeSelector", "matchExpressions"))
  ]
  if (selectors.length === 0) return true
  if (group !== "") return false
  return selectors.every((selector) =>
    plural === "pods"
      ? selectsPod(selector, counted)
      : plural === "persistentvolumeclaims" &&
        selector.scopeName === "VolumeAttributesClass" &&
        selects(selector, classesOf(counted))
  )
}

const texts = (value: Json | undefined): ReadonlyArray<string> =>
  Array.isArray(value) ? value.filter((each): each is string => typeof each === "string") : []

const classesOf = (claim: JsonObject): ReadonlyArray<string> =>
  [
    at(claim, "spec", "volumeAttributesClassName"),
    at(claim, "status", "currentVolumeAttributesClassName"),
    at(claim, "status", "modifyVolumeStatus", "targetVolumeAttributesClassName")
  ].flatMap((name) => (typeof name === "string" && name !== "" ? [name] : []))

const selects = ({ operator, values }: JsonObject, given: ReadonlyArray<string>): boolean => {
  const wanted = texts(values)
  switch (operator) {
    case "Exists":
      return given.length > 0
    case "DoesNotExist":
      return given.length === 0
    case "In":
      return given.some((each) => wanted.includes(each))
    default:
      return given.length === 0 || given.some((each) => !wanted.includes(each))
  }
}

const selectsPod = (selector: JsonObject, pod: JsonObject): boolean => {
  const { activeDeadlineSeconds, priorityClassName } = object(pod.spec)
  const isTerminating = typeof activeDeadlineSeconds === "number" && activeDeadlineSeconds >= 0
  const isBestEffort = QualityOfService.of(object(pod.spec)) === "BestEffort"
  switch (selector.scopeName) {
    case "Terminating":
      return isTerminating
    case "NotTerminating":
      return !isTerminating
    case "BestEffort":
      return isBestEffort
    case "NotBestEffort":
      return !isBestEffort
    case "PriorityClass":
      return selects(
        selector,
        typeof priorityClassName === "string" && priorityClassName !== "" ? [priorityClassName] : []
      )
    case "CrossNamespacePodAffinity":
      return ["podAffinity", "podAntiAffinity"].some((kind) => {
        const affinity = at(pod, "spec", "affinity", kind)
        const terms = [
          ...objects(at(affinity, "requiredDuringSchedulingIgnoredDuringExecution")),
          ...objects(at(affinity, "preferredDuringSchedulingIgnoredDuringExecution")).map((each) =>
            object(each.podAffinityTerm)
          )
        ]
        return terms.some(
          ({ namespaces, namespaceSelector }) => texts(namespaces).length > 0 || namespaceSelector !== undefined
        )
      })
    default:
      return false
  }
}
