/** v1 Service. */
import * as Failure from "../../Failure.ts"
import * as FieldError from "../../FieldError.ts"
import type { DraftObject, JsonObject } from "../../Json.ts"
import * as Json from "../../Json.ts"
import type { Strategy, Writing } from "../../Kind.ts"
import { type Definition, drafts, type Errors, fill, statusStrategy, strategy } from "../Definition.ts"
import * as Format from "../Format.ts"
import * as Allocation from "./Allocation.ts"
import * as Validation from "./ServiceValidation.ts"

const { hasClusterIp, hasNodePorts, isExternal, isHeadless, needsHealthCheck } = Validation

const main = strategy({
  shape: "Service",
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
    if (spec.clusterIP !== undefined) fill(spec, "clusterIPs", [spec.clusterIP])
    refuse(draft, Validation.allocation(spec))
    allocate(draft, undefined, writing)
  },
  prepareForUpdate: (draft, old, writing) => {
    const spec = Json.member(draft, "spec")
    const before = Json.object(old.spec)
    leaveOut(spec, before)
    keepAllocated(spec, before)
    if (spec.type !== "LoadBalancer") Json.member(draft, "status").loadBalancer = {}
    leaveOne(spec, before)
    refuse(draft, Validation.allocation(spec, before))
    allocate(draft, before, writing)
  },
  *validate(service, writing) {
    const spec = Json.object(service.spec)
    const mistakes = [...Validation.mistakes(spec)]
    yield* mistakes
    warnOfIgnored(spec, writing)
    if (mistakes.length === 0) yield* Validation.takenMistakes(service, writing)
  },
  *validateUpdate(service, old, writing) {
    const spec = Json.object(service.spec)
    const before = Json.object(old.spec)
    const mistakes = [...Validation.change(spec, before), ...Validation.mistakes(spec)]
    yield* mistakes
    warnOfIgnored(spec, writing)
    if (mistakes.length === 0) yield* Validation.takenMistakes(service, writing)
  }
})

/** Throws a Failure (422) where there are mistakes: these are found, and told, before all others. */
const refuse = (service: JsonObject, mistakes: Errors): void => {
  const errors = [...mistakes]
  if (errors.length === 0) return
  const name = Json.text(Json.at(service, "metadata", "name")) ?? ""
  throw Failure.invalid({ group: "", kind: "Service", plural: "services" }, name, errors)
}

const warnOfIgnored = (spec: JsonObject, { warn }: Writing): void => {
  if (spec.type !== "ExternalName" && (spec.externalName ?? "") !== "") {
    warn('spec.externalName is ignored when spec.type is not "ExternalName"')
  }
  if (spec.type === "ClusterIP" && isHeadless(spec) && spec.sessionAffinity !== "None") {
    warn("spec.SessionAffinity is ignored for headless services")
  }
}

/** Drops what a Service of the new type cannot have, if it is only there because it was before. */
const leaveOut = (spec: DraftObject, before: JsonObject): void => {
  const drop = (names: ReadonlyArray<string>): void => {
    if (names.every((name) => Json.equal(spec[name], before[name]))) for (const name of names) delete spec[name]
  }
  if (before.type !== "ExternalName" && spec.type === "ExternalName") {
    drop(["clusterIP", "clusterIPs"])
    drop(["ipFamilies"])
    drop(["ipFamilyPolicy"])
  }
  if (hasNodePorts(before) && !hasNodePorts(spec)) {
    const ports = (of: JsonObject) => Json.objects(of.ports).map(({ nodePort }) => nodePort ?? 0)
    if (Json.equal(ports(spec), ports(before))) for (const port of drafts(spec, "ports")) delete port.nodePort
  }
  if (needsHealthCheck(before) && !needsHealthCheck(spec)) drop(["healthCheckNodePort"])
  if (before.type === "LoadBalancer" && spec.type !== "LoadBalancer") {
    drop(["allocateLoadBalancerNodePorts"])
    drop(["loadBalancerClass"])
  }
  if (isExternal(before) && !isExternal(spec)) drop(["externalTrafficPolicy"])
  if (spec.type === "ExternalName" && before.type !== "ExternalName") drop(["internalTrafficPolicy"])
}

/** Who says that one family is enough, and no more, is left the first. */
const leaveOne = (spec: DraftObject, before: JsonObject): void => {
  const families = Json.list(spec.ipFamilies)
  if (spec.ipFamilyPolicy === "SingleStack" && families.length > 1 && Json.equal(families, before.ipFamilies)) {
    spec.ipFamilies = families.slice(0, 1).map((family) => Json.copy(family))
  }
}

/** Puts back what was allocated and a client that does not care left out. */
const keepAllocated = (spec: DraftObject, before: JsonObject): void => {
  const address = Json.text(spec.clusterIP)
  const old = Json.text(before.clusterIP)
  if (hasClusterIp(before) && hasClusterIp(spec)) {
    if (address === undefined && old !== undefined) spec.clusterIP = old
    if (spec.clusterIPs === undefined && before.clusterIPs !== undefined && (address ?? old) === old) {
      spec.clusterIPs = Json.copy(before.clusterIPs)
    }
  }
  if (address !== undefined && address !== old) {
    if (spec.clusterIPs === undefined || Json.equal(spec.clusterIPs, before.clusterIPs)) {
      spec.clusterIPs = [address]
    }
  }
  if (hasNodePorts(before) && hasNodePorts(spec)) keepNodePorts(spec, before)
  if (needsHealthCheck(before) && needsHealthCheck(spec) && before.healthCheckNodePort !== undefined) {
    fill(spec, "healthCheckNodePort", Json.copy(before.healthCheckNodePort))
  }
}

const keepNodePorts = (spec: DraftObject, before: JsonObject): void => {
  const asked = new Set(Json.objects(spec.ports).map(({ nodePort }) => nodePort))
  const old = new Map<Json.Json | undefined, Json.Json | undefined>(
    Json.objects(before.ports).map(({ name, nodePort }) => [name, nodePort])
  )
  for (const port of drafts(spec, "ports")) {
    const number = Json.number(old.get(port.name))
    if (port.nodePort === undefined && number !== undefined && !asked.has(number)) port.nodePort = number
  }
}

/** Gives a Service the families, the address and the ports that it lacks. */
const allocate = (draft: DraftObject, before: JsonObject | undefined, { stored }: Writing): void => {
  const spec = Json.member(draft, "spec")
  if (!hasClusterIp(spec)) return
  const selectorless = Object.keys(Json.object(spec.selector)).length === 0
  const old = Json.text(before?.ipFamilyPolicy)
  fill(spec, "ipFamilyPolicy", old ?? (isHeadless(spec) && selectorless ? "RequireDualStack" : "SingleStack"))
  if (spec.ipFamilies === undefined) {
    const [first] = Json.list(spec.clusterIPs)
    spec.ipFamilies = [typeof first === "string" && first.includes(":") ? "IPv6" : "IPv4"]
  }
  if (isHeadless(spec) && selectorless && spec.ipFamilyPolicy !== "SingleStack") {
    const [first] = Json.list(spec.ipFamilies)
    spec.ipFamilies = first === "IPv6" ? ["IPv6", "IPv4"] : ["IPv4", "IPv6"]
  }
  const found = Allocation.taken(stored("/services"), Json.at(draft, "metadata", "uid"))
  if (spec.clusterIP === undefined && (before === undefined || !hasClusterIp(before))) {
    const address = Allocation.address(found)
    spec.clusterIP = address
    spec.clusterIPs = [address]
  }
  if (hasNodePorts(spec) && spec.allocateLoadBalancerNodePorts !== false)
    allocatePorts(spec, found, before === undefined)
  if (needsHealthCheck(spec) && spec.healthCheckNodePort === undefined) {
    const own = drafts(spec, "ports").map(({ nodePort, protocol }) => `${protocol}/${nodePort}`)
    spec.healthCheckNodePort = Allocation.nodePort({ ...found, ports: new Set([...found.ports, ...own]) })
  }
}

/** Of a new Service, ports of the same number get the same port of a node, whatever their protocols. */
const allocatePorts = (spec: DraftObject, found: Allocation.Taken, shares: boolean): void => {
  const ports = new Set(found.ports)
  const byPort = new Map<Json.Json | undefined, number>()
  for (const { nodePort, port, protocol } of drafts(spec, "ports")) {
    if (typeof nodePort !== "number") continue
    ports.add(`${protocol}/${nodePort}`)
    byPort.set(port, nodePort)
  }
  for (const port of drafts(spec, "ports")) {
    if (port.nodePort !== undefined) continue
    const number = (shares ? byPort.get(port.port) : undefined) ?? Allocation.nodePort({ ...found, ports })
    port.nodePort = number
    byPort.set(port.port, number)
    ports.add(`${port.protocol}/${number}`)
  }
}

/** A Service that is made by a PUT of its status gets nothing allocated. */
const unallocated: Strategy = {
  ...main,
  prepareForCreate: (draft) => {
    draft.status = { loadBalancer: {} }
  }
}

/** The kind. */
export const service: Definition = {
  group: "",
  version: "v1",
  kind: "Service",
  names: Format.dnsLabel,
  strategy: main,
  status: statusStrategy(unallocated, "Service", {
    validateUpdate: function* (object) {
      const ingress = Json.objects(Json.at(object, "status", "loadBalancer", "ingress"))
      if (ingress.length > 0 && Json.at(object, "spec", "type") !== "LoadBalancer") {
        return yield FieldError.forbidden(
          "status.loadBalancer.ingress",
          "may only be used when `spec.type` is 'LoadBalancer'"
        )
      }
      for (const [index, { ip }] of ingress.entries()) {
        if (typeof ip !== "string") continue
        for (const mistake of Format.ip(ip)) {
          yield FieldError.invalid(`status.loadBalancer.ingress[${index}].ip`, ip, mistake)
        }
      }
    }
  }),
  selectableFields: (object) => ({
    "spec.clusterIP": Json.text(Json.at(object, "spec", "clusterIP")) ?? "",
    "spec.type": Json.text(Json.at(object, "spec", "type")) ?? ""
  }),
  createOnUpdate: true,
  unconditionalUpdate: true
}
