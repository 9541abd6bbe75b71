/** The admission plugin LimitRanger: the LimitRanges of a namespace set and limit the resources of containers, pods and claims. */
import { drafts } from "../../kinds/Definition.ts"
import * as PodResources from "../../kinds/pods/PodResources.ts"
import type { Attributes } from "../../model/Attributes.ts"
import * as Failure from "../../model/Failure.ts"
import { at, type DraftObject, type JsonObject, member, objects, text, texts } from "../../model/Json.ts"
import type { Writing } from "../../model/Kind.ts"
import { isDeleting } from "../../model/ObjectMeta.ts"
import * as Quantity from "../../model/Quantity.ts"
import { shownName } from "../AdmissionRequest.ts"

const annotation = "kubernetes.io/limit-ranger"

const rangesOf = ({ namespace }: Pick<Attributes, "namespace">, { stored }: Writing): ReadonlyArray<JsonObject> =>
  stored("/limitranges", namespace)

const limitsOf = (range: JsonObject): ReadonlyArray<JsonObject> => objects(at(range, "spec", "limits"))

/** Sets the default requests and limits of the containers of a new pod, and lists them in an annotation. */
export const admit = (pod: DraftObject, attributes: Pick<Attributes, "namespace">, writing: Writing): void => {
  for (const range of rangesOf(attributes, writing)) {
    const defaults = limitsOf(range).filter(({ type }) => type === "Container")
    const set: Array<string> = []
    for (const [list, role] of [
      ["containers", "container"],
      ["initContainers", "init container"]
    ] as const) {
      for (const container of drafts(member(pod, "spec"), list)) {
        for (const [from, to, word] of [
          ["defaultRequest", "requests", "request"],
          ["default", "limits", "limit"]
        ] as const) {
          const names = fill(container, to, Object.assign({}, ...defaults.map((limit) => texts(limit[from]))))
          if (names.length > 0) set.push(`${names.join(", ")} ${word} for ${role} ${container.name}`)
        }
      }
    }
    if (set.length > 0) {
      member(member(pod, "metadata"), "annotations")[annotation] = `LimitRanger plugin set: ${set.join("; ")}`
    }
  }
}

/** Adds the missing amounts, and returns their names. */
const fill = (
  container: DraftObject,
  list: "requests" | "limits",
  defaults: { readonly [name: string]: string }
): ReadonlyArray<string> => {
  const given = texts(at(container as JsonObject, "resources", list))
  const names = Object.keys(defaults)
    .filter((name) => !Object.hasOwn(given, name))
    .sort()
  if (names.length === 0) return names
  const amounts = member(member(container, "resources"), list)
  for (const name of names) amounts[name] = defaults[name] ?? ""
  return names
}

/** Throws a Failure (403) if the object violates a limit. */
export const validate = (attributes: Attributes, writing: Writing): void => {
  const { object, oldObject, operation, resource, subresource } = attributes
  if (object === null || subresource !== "" || resource.group !== "" || operation === "DELETE") return
  const isPod = resource.plural === "pods"
  if (isPod ? operation !== "CREATE" : resource.plural !== "persistentvolumeclaims") return
  if (oldObject !== null && isDeleting(oldObject)) return
  for (const range of rangesOf(attributes, writing)) {
    const found = limitsOf(range).flatMap((limit) => (isPod ? ofPod(limit, object) : ofClaim(limit, object)))
    const errors = [...new Set(found)]
    if (errors.length > 0) {
      throw Failure.forbidden(
        resource,
        shownName(attributes),
        errors.length === 1 ? (errors[0] ?? "") : `[${errors.join(", ")}]`
      )
    }
  }
}

const ofClaim = (limit: JsonObject, claim: JsonObject): ReadonlyArray<string> =>
  limit.type === "PersistentVolumeClaim"
    ? violations(limit, PodResources.amounts(at(claim, "spec", "resources", "requests")), undefined)
    : []

const ofPod = (limit: JsonObject, pod: JsonObject): ReadonlyArray<string> => {
  if (limit.type === "Pod") return violations(limit, PodResources.requestsOf(pod), PodResources.limitsOf(pod))
  if (limit.type !== "Container") return []
  return ["containers", "initContainers"].flatMap((list) =>
    objects(at(pod, "spec", list)).flatMap((container) =>
      violations(
        limit,
        PodResources.amounts(at(container, "resources", "requests")),
        PodResources.amounts(at(container, "resources", "limits"))
      )
    )
  )
}

/** The violations of a limit's bounds. `limits` is undefined for claims, which have only requests. */
const violations = (
  limit: JsonObject,
  requests: PodResources.Amounts,
  limits: PodResources.Amounts | undefined
): ReadonlyArray<string> => {
  const type = text(limit.type) ?? ""
  const bounds = (name: "min" | "max" | "maxLimitRequestRatio") =>
    Object.entries(texts(limit[name])).sort(([one], [other]) => (one < other ? -1 : 1))
  const errors: Array<string | undefined> = []
  for (const [name, bound] of bounds("min")) {
    const usage = `minimum ${name} usage per ${type} is ${bound}`
    errors.push(
      !requests.has(name)
        ? `${usage}.  No request is specified`
        : (minConstraint(usage, "request", requests.get(name), bound) ??
            minConstraint(usage, "limit", limits?.get(name), bound))
    )
  }
  for (const [name, bound] of bounds("max")) {
    const usage = `maximum ${name} usage per ${type} is ${bound}`
    const request = requests.get(name)
    const most = limits?.get(name)
    if (limits === undefined) {
      errors.push(
        request === undefined ? `${usage}.  No request is specified` : maxConstraint(usage, "request", request, bound)
      )
    } else if (most === undefined) errors.push(`${usage}.  No limit is specified`)
    else errors.push(maxConstraint(usage, "limit", most, bound) ?? maxConstraint(usage, "request", request, bound))
  }
  if (limits !== undefined) {
    for (const [name, bound] of bounds("maxLimitRequestRatio")) {
      errors.push(
        limitRequestRatioConstraint(
          `${name} max limit to request ratio per ${type} is ${bound}`,
          requests.get(name),
          limits.get(name),
          bound
        )
      )
    }
  }
  return errors.flatMap((error) => (error === undefined ? [] : [error]))
}

const minConstraint = (usage: string, what: string, value: Quantity.Quantity | undefined, bound: string) =>
  value !== undefined && value.nanos < Quantity.amount(bound)
    ? `${usage}, but ${what} is ${Quantity.format(value)}`
    : undefined

const maxConstraint = (usage: string, what: string, value: Quantity.Quantity | undefined, bound: string) =>
  value !== undefined && value.nanos > Quantity.amount(bound)
    ? `${usage}, but ${what} is ${Quantity.format(value)}`
    : undefined

const limitRequestRatioConstraint = (
  usage: string,
  request: Quantity.Quantity | undefined,
  limit: Quantity.Quantity | undefined,
  bound: string
): string | undefined => {
  if (request === undefined || request.nanos === 0n) return `${usage}, but no request is specified or request is 0`
  if (limit === undefined || limit.nanos === 0n) return `${usage}, but no limit is specified or limit is 0`
  const observed = Number(limit.nanos) / Number(request.nanos)
  return observed * 1e9 > Number(Quantity.amount(bound))
    ? `${usage}, but provided ratio is ${observed.toFixed(6)}`
    : undefined
}
