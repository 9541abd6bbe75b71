/**
 * The IP families of a Service: what it says of them, by how many of several fields, and what it gets. As in envtest's
 * kube-apiserver, the cluster has addresses of IPv4 only.
 */
import * as FieldError from "../../model/FieldError.ts"
import type { DraftObject, JsonObject } from "../../model/Json.ts"
import * as Json from "../../model/Json.ts"
import * as Validation from "./ServiceValidation.ts"

/** Fills in the policy and the families of a Service; the errors that keep it from getting addresses. */
export const assign = (spec: DraftObject, before?: JsonObject): ReadonlyArray<FieldError.FieldError> => {
  if (Validation.isName(spec) || isSettled(spec, before)) return []
  const anywhere = Validation.isHeadless(spec) && Json.isEmpty(Json.object(spec.selector))
  spec.ipFamilyPolicy ??= Json.text(before?.ipFamilyPolicy) ?? (anywhere ? "RequireDualStack" : "SingleStack")
  const related = [...Validation.addresses(spec, before)]
  if (related.length > 0) return related
  const errors = [...reduced(spec, before), ...tooMany(spec), ...inferred(spec)]
  if (errors.length > 0) return errors
  // Where the backends are is not known: they may be of families that the cluster has not.
  const families = anywhere ? [] : [...unavailable(spec)]
  if (families.length > 0) return families
  if (Json.list(spec.ipFamilies).length === 0) spec.ipFamilies = ["IPv4"]
  const [first, second] = Json.list(spec.ipFamilies)
  if (anywhere && second === undefined && spec.ipFamilyPolicy !== "SingleStack") {
    spec.ipFamilies = first === "IPv4" ? ["IPv4", "IPv6"] : ["IPv6", "IPv4"]
  }
  return []
}

/** A Service that prefers two families keeps those that it has got, unless it says something new. */
const isSettled = (spec: JsonObject, before: JsonObject | undefined): boolean =>
  before !== undefined &&
  before.type === spec.type &&
  Validation.hasClusterIp(spec) &&
  spec.ipFamilyPolicy === "PreferDualStack" &&
  (before.ipFamilyPolicy ?? "PreferDualStack") === "PreferDualStack" &&
  sameList("clusterIPs", spec, before) &&
  sameList("ipFamilies", spec, before)

/** The families of a Service that was stored without, as it is read. */
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

/** Who says that one family is enough is left the first; who takes the other away has to say so. */
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

/** Adds the families of the addresses that are asked for. */
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
