/** v1 Service. */
import * as Failure from "../../model/Failure.ts"
import * as Format from "../../model/Format.ts"
import type { DraftObject, JsonObject } from "../../model/Json.ts"
import * as Json from "../../model/Json.ts"
import type { Strategy, Writing } from "../../model/Kind.ts"
import type { Values } from "../../model/ObjectIndex.ts"
import { type Definition, drafts, type Errors, fill, statusStrategy, strategy } from "../Definition.ts"
import * as Allocation from "./Allocation.ts"
import * as Families from "./Families.ts"
import * as Validation from "./ServiceValidation.ts"

const { hasClusterIp, hasNodePorts, isExternal, isHeadless, isName, needsHealthCheck } = Validation

const main = strategy({
  shape: "core/v1.Service",
  status: { loadBalancer: {} },
  default: (draft) => {
    const spec = Json.member(draft, "spec")
    fill(spec, "sessionAffinity", "None")
    if (spec.sessionAffinity === "None") delete spec.sessionAffinityConfig
    if (spec.sessionAffinity === "ClientIP") {
      const client = Json.member(Json.member(spec, "sessionAffinityConfig"), "clientIP")
      fill(client, "timeoutSeconds", 10_800)
    }
    fill(spec, "type", "ClusterIP")
    for (const port of drafts(spec, "ports")) {
      fill(port, "protocol", "TCP")
      const target = port.targetPort ?? 0
      if (target === 0 || target === "") port.targetPort = port.port ?? 0
    }
    if (isExternal(spec)) fill(spec, "externalTrafficPolicy", "Cluster")
    if (hasClusterIp(spec)) fill(spec, "internalTrafficPolicy", "Cluster")
    if (spec.type !== "LoadBalancer") return
    fill(spec, "allocateLoadBalancerNodePorts", true)
    const balancer = Json.member(Json.member(draft, "status"), "loadBalancer")
    for (const ingress of drafts(balancer, "ingress")) if (ingress.ip !== undefined) fill(ingress, "ipMode", "VIP")
  },
  prepareForCreate: (draft, writing) => {
    const spec = Json.member(draft, "spec")
    if (!isEmpty(spec.clusterIP) && Json.list(spec.clusterIPs).length === 0) spec.clusterIPs = [spec.clusterIP ?? ""]
    refuse(draft, Families.assign(spec))
    allocate(draft, undefined, writing)
  },
  prepareForUpdate: (draft, old, writing) => {
    const spec = Json.member(draft, "spec")
    const before = Json.object(Families.ofStored(old).spec)
    keepAllocated(spec, before)
    synchronize(spec, before)
    refuse(draft, Families.assign(spec, before))
    allocate(draft, before, writing)
    leaveOut(spec, before)
    if (spec.type !== "LoadBalancer") Json.member(draft, "status").loadBalancer = {}
  },
  *validate(service, writing) {
    const spec = Json.object(service.spec)
    const errors = [...Validation.validate(spec)]
    yield* errors
    warnOfIgnored(spec, writing)
    if (errors.length === 0) yield* Validation.validateAllocated(service, writing)
  },
  *validateUpdate(service, old, writing) {
    const spec = Json.object(service.spec)
    const before = Json.object(old.spec)
    const errors = [
      ...Validation.change(spec, before),
      ...Validation.validate(spec, before),
      ...Validation.healthCheckChange(spec, before)
    ]
    yield* errors
    warnOfIgnored(spec, writing)
    // The search for another Service with the same values takes longer than the rest of an update.
    if (errors.length === 0 && !hasAllocatedOf(spec, before)) yield* Validation.validateAllocated(service, writing)
  }
})

/** True if the cluster IPs and the node ports are those of the stored Service. */
const hasAllocatedOf = (spec: JsonObject, before: JsonObject): boolean => {
  const portsOf = ({ ports }: JsonObject) => Json.objects(ports).map(({ nodePort, protocol }) => [nodePort, protocol])
  return (
    Json.equal(Json.list(spec.clusterIPs), Json.list(before.clusterIPs)) &&
    JSON.stringify(portsOf(spec)) === JSON.stringify(portsOf(before))
  )
}

/** Throws a Failure (422) if there are errors. A kube-apiserver reports them before all others. */
const refuse = (service: JsonObject, found: Errors): void => {
  const errors = [...found]
  if (errors.length === 0) return
  const name = Json.text(Json.at(service, "metadata", "name")) ?? ""
  throw Failure.invalid({ group: "", kind: "Service", plural: "services" }, name, errors)
}

const warnOfIgnored = (spec: JsonObject, { warn }: Writing): void => {
  const hasExternal = Json.list(spec.externalIPs).length > 0
  const headless = spec.type === "ClusterIP" && isHeadless(spec)
  if (headless) {
    if ((spec.loadBalancerIP ?? "") !== "") warn("spec.loadBalancerIP is ignored for headless services")
    if (hasExternal) warn("spec.externalIPs is ignored for headless services")
    if (spec.sessionAffinity !== "None") warn("spec.SessionAffinity is ignored for headless services")
  }
  if (hasExternal && !headless && spec.type !== "ExternalName") {
    warn("spec.externalIPs is deprecated and may no longer be implemented in some clusters")
  }
  if (hasExternal && spec.type === "ExternalName") warn('spec.externalIPs is ignored when spec.type is "ExternalName"')
  if (spec.type !== "ExternalName" && (spec.externalName ?? "") !== "") {
    warn('spec.externalName is ignored when spec.type is not "ExternalName"')
  }
  if (spec.trafficDistribution === "PreferClose") {
    warn('spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"')
  }
}

/** Drops fields that the new type does not allow, if the update did not change them. */
const leaveOut = (spec: DraftObject, before: JsonObject): void => {
  const drop = (...names: ReadonlyArray<string>): void => {
    if (names.every((name) => Json.equal(spec[name], before[name]))) for (const name of names) delete spec[name]
  }
  if (!isName(before) && isName(spec)) {
    drop("clusterIP", "clusterIPs")
    drop("ipFamilies")
    drop("ipFamilyPolicy")
  }
  if (hasNodePorts(before) && !hasNodePorts(spec)) {
    const old = nodePortsOf(before)
    if (nodePortsOf(spec).isSubsetOf(old)) for (const port of drafts(spec, "ports")) delete port.nodePort
  }
  if (needsHealthCheck(before) && !needsHealthCheck(spec)) drop("healthCheckNodePort")
  if (before.type === "LoadBalancer" && spec.type !== "LoadBalancer") {
    drop("allocateLoadBalancerNodePorts")
    drop("loadBalancerClass")
  }
  if (isExternal(before) && !isExternal(spec)) drop("externalTrafficPolicy")
}

const isEmpty = (value: Json.Json | undefined): boolean => (value ?? "") === ""

const nodePortsOf = (spec: JsonObject): ReadonlySet<Json.Json> =>
  new Set(Json.objects(spec.ports).flatMap(({ nodePort }) => (nodePort === undefined ? [] : [nodePort])))

/** True if the Service gets node ports allocated. */
const getsNodePorts = (spec: JsonObject): boolean => hasNodePorts(spec) && spec.allocateLoadBalancerNodePorts !== false

/** Restores allocated values that the client left out. */
const keepAllocated = (spec: DraftObject, before: JsonObject): void => {
  const old = Json.text(before.clusterIP)
  if (!isName(before) && !isName(spec)) {
    if (old !== undefined) fill(spec, "clusterIP", old)
    if (Json.list(spec.clusterIPs).length === 0 && before.clusterIPs !== undefined) {
      spec.clusterIPs = Json.copy(before.clusterIPs)
    }
  }
  if (getsNodePorts(before) && getsNodePorts(spec)) keepNodePorts(spec, before)
  if (needsHealthCheck(before) && needsHealthCheck(spec) && before.healthCheckNodePort !== undefined) {
    fill(spec, "healthCheckNodePort", Json.copy(before.healthCheckNodePort))
  }
}

/** Copies a change of `clusterIP` to `clusterIPs`, for a client that knows only `clusterIP`. */
const synchronize = (spec: DraftObject, before: JsonObject): void => {
  const [address, old] = [spec.clusterIP ?? "", before.clusterIP ?? ""]
  const same = Json.equal(Json.list(spec.clusterIPs), Json.list(before.clusterIPs))
  if (address === old) {
    if (Json.list(spec.clusterIPs).length === 0 && before.clusterIPs !== undefined) {
      spec.clusterIPs = Json.copy(before.clusterIPs)
    }
  } else if (same) {
    if (address === "") delete spec.clusterIPs
    else spec.clusterIPs = [address]
  }
}

const keepNodePorts = (spec: DraftObject, before: JsonObject): void => {
  const requested = nodePortsOf(spec)
  const old = new Map<Json.Json | undefined, Json.Json | undefined>(
    Json.objects(before.ports).map(({ name, nodePort }) => [name, nodePort])
  )
  for (const port of drafts(spec, "ports")) {
    const number = Json.number(old.get(port.name))
    if (port.nodePort === undefined && number !== undefined && !requested.has(number)) port.nodePort = number
  }
}

/** Allocates the missing cluster IP, node ports and health check port. */
const allocate = (draft: DraftObject, before: JsonObject | undefined, { values }: Writing): void => {
  const spec = Json.member(draft, "spec")
  // Values that the Service releases become free only after this allocation.
  const found = () => values("/services", Allocation.valuesOf)
  allocateAddress(spec, before, found)
  if (hasNodePorts(spec)) {
    if (getsNodePorts(spec)) allocatePorts(spec, found, before === undefined)
    if (before !== undefined) refuseRepeated(spec)
  }
  const needed = before !== undefined && needsHealthCheck(before)
  if (needsHealthCheck(spec) && !needed && spec.healthCheckNodePort === undefined) {
    const own = drafts(spec, "ports").map(({ nodePort, protocol }) => `${protocol}/${nodePort}`)
    const taken = found()
    spec.healthCheckNodePort = Allocation.nodePort((port) => own.includes(port) || taken.has(port))
  }
}

const allocateAddress = (spec: DraftObject, before: JsonObject | undefined, found: () => Values): void => {
  const given = Json.list(spec.clusterIPs)
  const isNew = before === undefined || isName(before)
  if (isNew && !isName(spec) && given.length === 0) {
    const address = Allocation.address(found())
    spec.clusterIP = address
    spec.clusterIPs = [address]
  }
  if (isNew || isHeadless(before) || Json.list(before.ipFamilies).length !== 1) return
  // `Families.assign` has already rejected a secondary IPv6 family, except of a headless Service. There, a kube-apiserver panics.
  const [, second] = Json.list(spec.ipFamilies)
  if (second === "IPv4" && given.length < 2)
    spec.clusterIPs = [...given.map((one) => Json.copy(one)), Allocation.address(found())]
}

/** Throws a Failure (500) if two ports get the same node port, for example because both have the name of one old port. */
const refuseRepeated = (spec: JsonObject): void => {
  const seen = new Set<string>()
  for (const { nodePort, protocol } of Json.objects(spec.ports)) {
    const one = `{${protocol} ${nodePort}}`
    if (seen.has(one) && nodePort !== undefined) throw Failure.plain(`duplicate nodePort: ${one}`)
    seen.add(one)
  }
}

/** Allocates node ports. `shares`: ports with the same number share a node port, for different protocols (new Services). */
const allocatePorts = (spec: DraftObject, found: () => Values, shares: boolean): void => {
  const missing = drafts(spec, "ports").some(({ nodePort }) => nodePort === undefined)
  if (!missing) return
  const taken = found()
  const own = new Set<string>()
  const byPort = new Map<Json.Json | undefined, number>()
  for (const { nodePort, port, protocol } of drafts(spec, "ports")) {
    if (typeof nodePort !== "number") continue
    own.add(`${protocol}/${nodePort}`)
    byPort.set(port, nodePort)
  }
  for (const port of drafts(spec, "ports")) {
    if (port.nodePort !== undefined) continue
    const number =
      (shares ? byPort.get(port.port) : undefined) ?? Allocation.nodePort((value) => own.has(value) || taken.has(value))
    port.nodePort = number
    byPort.set(port.port, number)
    own.add(`${port.protocol}/${number}`)
  }
}

/** The strategy of a Service that a PUT of `/status` creates. It allocates nothing. */
const unallocated: Strategy = {
  ...main,
  prepareForCreate: (draft) => {
    draft.status = { loadBalancer: {} }
  }
}

/** Hides the stored `internalTrafficPolicy` of an ExternalName Service in responses. */
const withoutTraffic = (service: JsonObject): JsonObject => {
  const spec = Json.object(service.spec)
  if (!isName(spec) || spec.internalTrafficPolicy === undefined) return service
  const { internalTrafficPolicy: _, ...rest } = spec
  return { ...service, spec: rest }
}

/** v1 Service. */
export const service: Definition = {
  group: "",
  version: "v1",
  kind: "Service",
  names: Format.dnsLabel,
  strategy: main,
  status: statusStrategy(unallocated, "core/v1.Service", {
    validateUpdate: Validation.validateBalancer
  }),
  selectableFields: (object) => ({
    "spec.clusterIP": Json.text(Json.at(object, "spec", "clusterIP")) ?? "",
    "spec.type": Json.text(Json.at(object, "spec", "type")) ?? ""
  }),
  createOnUpdate: true,
  unconditionalUpdate: true,
  fromStorage: (stored) => Families.ofStored(withoutTraffic(stored)),
  forUpdate: (stored) => stored
}
