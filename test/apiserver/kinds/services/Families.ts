/**
 * Assigns IP families to a Service from `ipFamilies`, `ipFamilyPolicy` and `clusterIPs`.
 * The cluster has only IPv4 addresses, like that of envtest's kube-apiserver.
 */
import * as FieldError from "../../model/FieldError.ts"
import type { DraftObject, JsonObject } from "../../model/Json.ts"
import * as Json from "../../model/Json.ts"
import * as Validation from "./ServiceValidation.ts"

/** Defaults the policy and the families of a Service. Returns the errors that prevent an allocation. */
export const assign = (spec: DraftObject, before?: JsonObject): ReadonlyArray<FieldError.FieldError> => {
  if (Validation.isName(spec) || isSettled(spec, before)) return []
  const anywhere = Validation.isHeadless(spec) && Json.isEmpty(Json.object(spec.selector))
  spec.ipFamilyPolicy ??= Json.text(before?.ipFamilyPolicy) ?? (anywhere ? "RequireDualStack" : "SingleStack")
  const related = [...Validation.addresses(spec, before)]
  if (related.length > 0) return related
  const errors = [...reduced(spec, before), ...tooMany(spec), ...inferred(spec)]
  if (errors.length > 0) return errors
  // The backends of a Service without a selector are unknown. They can have families that the cluster lacks.
  const families = anywhere ? [] : [...unavailable(spec)]
  if (families.length > 0) return families
  if (Json.list(spec.ipFamilies).length === 0) spec.ipFamilies = ["IPv4"]
  const [first, second] = Json.list(spec.ipFamilies)
  if (anywhere && second === undefined && spec.ipFamilyPolicy !== "SingleStack") {
    spec.ipFamilies = first === "IPv4" ? ["IPv4", "IPv6"] : ["IPv6", "IPv4"]
  }
  return []
}

/** True if a `PreferDualStack` Service keeps its families: the update changes neither its type, its policy, its IPs nor its families. */
const isSettled = (spec: JsonObject, before: JsonObject | undefined): boolean =>
  before !== undefined &&
  before.type === spec.type &&
  Validation.hasClusterIp(spec) &&
  spec.ipFamilyPolicy === "PreferDualStack" &&
  (before.ipFamilyPolicy ?? "PreferDualStack") === "PreferDualStack" &&
  sameList("clusterIPs", spec, before) &&
  sameList("ipFamilies", spec, before)

/** Defaults the families of a stored Service that lacks them, for reads. */
export const ofStored = (service: JsonObject): JsonObject => {
  const spec = Json.object(service.spec)
  if (Validation.isName(spec) || Json.list(spec.ipFamilies).length > 0) return service
  if (Validation.isHeadless(spec)) {
    const anywhere = Json.isEmpty(Json.object(spec.selector))
    const families = anywhere
      ? { ipFamilies: ["IPv4", "IPv6"], ipFamilyPolicy: "RequireDualStack" }
      : { ipFamilies: ["IPv4"], ipFamilyPolicy: "SingleStack" }
    return { ...service, spec: { ...spec, ...families } }
  }
  const ipFamilies = Json.list(spec.clusterIPs).map((address) => Validation.familyOf(String(address)))
  if (ipFamilies.length === 0) return service
  const ipFamilyPolicy = ipFamilies.length === 1 ? "SingleStack" : "RequireDualStack"
  return { ...service, spec: { ...spec, ipFamilies, ipFamilyPolicy } }
}

const sameList = (name: string, one: JsonObject, other: JsonObject): boolean =>
  Json.equal(Json.list(one[name]), Json.list(other[name]))

const wrongPolicy = (spec: JsonObject, text: string): FieldError.FieldError =>
  FieldError.invalid("spec.ipFamilyPolicy", spec.ipFamilyPolicy, text)

/** Drops an unchanged secondary value under `SingleStack`. Yields an error if an update drops it under another policy. */
function* reduced(spec: DraftObject, before: JsonObject | undefined): Iterable<FieldError.FieldError> {
  if (before === undefined) return
  for (const [name, what] of [
    ["clusterIPs", "cluster IP"],
    ["ipFamilies", "IP family"]
  ] as const) {
    const now = Json.list(spec[name])
    if (spec.ipFamilyPolicy === "SingleStack") {
      if (now.length > 1 && sameList(name, spec, before)) spec[name] = now.slice(0, 1).map((one) => Json.copy(one))
    } else if (now.length > 0 && now.length < Json.list(before[name]).length) {
      yield wrongPolicy(spec, `must be 'SingleStack' to release the secondary ${what}`)
    }
  }
}

function* tooMany(spec: JsonObject): Iterable<FieldError.FieldError> {
  if (spec.ipFamilyPolicy !== "SingleStack") return
  for (const [name, what] of [
    ["clusterIPs", "cluster IPs"],
    ["ipFamilies", "IP families"]
  ] as const) {
    if (Json.list(spec[name]).length === 2) {
      yield wrongPolicy(spec, `must be 'RequireDualStack' or 'PreferDualStack' when multiple ${what} are specified`)
    }
  }
}

/** Adds the families of the requested cluster IPs. Yields an error for each IPv6 address. */
function* inferred(spec: DraftObject): Iterable<FieldError.FieldError> {
  for (const [index, address] of Json.list(spec.clusterIPs).entries()) {
    if (address === "None") return
    const families = Json.items(spec, "ipFamilies")
    const family = Validation.familyOf(String(address))
    if (index < families.length) continue
    if (family === "IPv4") families.push(family)
    else {
      yield FieldError.invalid(
        `spec.clusterIPs[${index}]`,
        spec.clusterIPs,
        `${family} is not configured on this cluster`
      )
    }
  }
}

function* unavailable(spec: JsonObject): Iterable<FieldError.FieldError> {
  if (spec.ipFamilyPolicy === "RequireDualStack") {
    yield wrongPolicy(spec, "this cluster is not configured for dual-stack services")
  }
  for (const [index, family] of Json.list(spec.ipFamilies).entries()) {
    if (family !== "IPv4")
      yield FieldError.invalid(`spec.ipFamilies[${index}]`, family, "not configured on this cluster")
  }
}
