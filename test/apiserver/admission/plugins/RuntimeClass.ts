/** The admission plugin RuntimeClass: a new pod gets the overhead and the scheduling of its RuntimeClass. */
import type { Attributes } from "../../model/Attributes.ts"
import * as Failure from "../../model/Failure.ts"
import * as Json from "../../model/Json.ts"
import type { Writing } from "../../model/Kind.ts"
import { nameOf } from "../../model/ObjectMeta.ts"
import * as Quantity from "../../model/Quantity.ts"
import { shownName } from "../AdmissionRequest.ts"

/**
 * Sets the overhead, and adds the node selector and the tolerations of the RuntimeClass. Throws a Failure (403) if the RuntimeClass does
 * not exist, or the pod contradicts it.
 */
export const admit = (pod: Json.DraftObject, attributes: Omit<Attributes, "object">, writing: Writing): void => {
  const refuse = refusal({ ...attributes, object: pod as Json.JsonObject })
  const runtimeClass = classOf(pod as Json.JsonObject, refuse, writing)
  if (runtimeClass === undefined) return
  const spec = Json.member(pod, "spec")
  const { overhead, scheduling } = runtimeClass
  if (Json.isObject(overhead)) {
    const fixed = Json.texts(overhead.podFixed)
    const given = Json.texts(Json.at(pod as Json.JsonObject, "spec", "overhead"))
    if (Object.keys(given).length > 0 && !isEqual(fixed, given)) throw refuse(different)
    spec.overhead = { ...fixed }
  }
  if (!Json.isObject(scheduling)) return
  for (const [label, value] of Object.entries(Json.texts(scheduling.nodeSelector))) {
    const selector = Json.member(spec, "nodeSelector")
    const given = selector[label] ?? value
    if (given !== value) {
      const own = `pod.spec.nodeSelector[${label}] = ${given}`
      throw refuse(`conflict: runtimeClass.scheduling.nodeSelector[${label}] = ${value}; ${own}`)
    }
    selector[label] = value
  }
  const merged = merge([
    ...Json.objects(Json.at(pod as Json.JsonObject, "spec", "tolerations")),
    ...Json.objects(scheduling.tolerations)
  ])
  if (merged.length > 0) spec.tolerations = merged.map((one) => Json.copy(one))
}

/** Throws a Failure (403) if the overhead of a new pod differs from that of its RuntimeClass. */
export const validate = (attributes: Attributes, writing: Writing): void => {
  const { object, operation, resource, subresource } = attributes
  if (resource.group !== "" || resource.plural !== "pods" || subresource !== "") return
  if (object === null || operation !== "CREATE") return
  const refuse = refusal(attributes)
  const overhead = classOf(object, refuse, writing)?.overhead
  const given = Json.at(object, "spec", "overhead")
  if (Json.isObject(overhead)) {
    if (!isEqual(Json.texts(overhead.podFixed), Json.texts(given))) throw refuse(different)
  } else if (given !== undefined) {
    throw refuse("pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead")
  }
}

type Refuse = (message: string) => Failure.Failure

const refusal =
  (attributes: Attributes): Refuse =>
  (message) =>
    Failure.forbidden(attributes.resource, shownName(attributes), message)

const different = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"

const classOf = (pod: Json.JsonObject, refuse: Refuse, { stored }: Writing): Json.JsonObject | undefined => {
  const name = Json.text(Json.at(pod, "spec", "runtimeClassName"))
  if (name === undefined) return undefined
  const found = stored("node.k8s.io/runtimeclasses").find((one) => nameOf(one) === name)
  if (found === undefined) throw refuse(`pod rejected: RuntimeClass ${JSON.stringify(name)} not found`)
  return found
}

type Amounts = { readonly [name: string]: string }

const isEqual = (some: Amounts, others: Amounts): boolean => {
  const names = Object.keys(some)
  return (
    names.length === Object.keys(others).length &&
    names.every((name) => {
      const other = others[name]
      return other !== undefined && Quantity.amount(some[name] ?? "0") === Quantity.amount(other)
    })
  )
}

/** Removes tolerations that another toleration includes. Keeps the first of equal tolerations. */
const merge = (tolerations: ReadonlyArray<Json.JsonObject>): ReadonlyArray<Json.JsonObject> => {
  const merged: Array<Json.JsonObject> = []
  for (const [index, toleration] of tolerations.entries()) {
    const isRedundant =
      merged.some((one) => includes(one, toleration)) ||
      tolerations.slice(index + 1).some((one) => !Json.equal(one, toleration) && includes(one, toleration))
    if (!isRedundant) merged.push(toleration)
  }
  return merged
}

/** True if a toleration tolerates all taints that another one tolerates. */
const includes = (wide: Json.JsonObject, narrow: Json.JsonObject): boolean => {
  if (Json.equal(wide, narrow)) return true
  const matchesAllKeys = wide.key === undefined && wide.operator === "Exists"
  if (wide.key !== narrow.key && !matchesAllKeys) return false
  if (wide.effect !== undefined && wide.effect !== narrow.effect) return false
  const most = Json.number(wide.tolerationSeconds)
  if (wide.effect === "NoExecute" && most !== undefined) {
    const seconds = Json.number(narrow.tolerationSeconds)
    if (seconds === undefined || seconds > most) return false
  }
  if (wide.operator === "Exists") return true
  const isEquality = wide.operator === undefined || wide.operator === "Equal"
  return isEquality && narrow.operator === "Equal" && narrow.value === wide.value
}
