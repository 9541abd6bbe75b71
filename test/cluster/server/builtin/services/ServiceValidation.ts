/**
 * What can be wrong with a Service.
 */
import * as FieldError from "../../FieldError.ts"
import type { JsonObject } from "../../Json.ts"
import * as Json from "../../Json.ts"
import type { Writing } from "../../Kind.ts"
import * as Check from "../Check.ts"
import type { Errors } from "../Definition.ts"
import * as Format from "../Format.ts"
import * as Allocation from "./Allocation.ts"

/** Whether it has an address of the cluster. */
export const hasClusterIp = ({ type }: JsonObject): boolean =>
  type === "ClusterIP" || type === "NodePort" || type === "LoadBalancer"

/** Whether it has ports of the nodes. */
export const hasNodePorts = ({ type }: JsonObject): boolean => type === "NodePort" || type === "LoadBalancer"

/** Whether it is reached from outside. */
export const isExternal = (spec: JsonObject): boolean =>
  hasNodePorts(spec) || (spec.type === "ClusterIP" && Json.list(spec.externalIPs).length > 0)

/** Whether it stands for its Pods' own addresses. */
export const isHeadless = (spec: JsonObject): boolean => spec.clusterIP === "None"

/** Whether a balancer has to ask each node. */
export const needsHealthCheck = ({ externalTrafficPolicy, type }: JsonObject): boolean =>
  type === "LoadBalancer" && externalTrafficPolicy === "Local"

/** A Service's `spec`. */
export function* mistakes(spec: JsonObject): Errors {
  const ports = Json.objects(spec.ports)
  const { type } = spec
  const headless = Json.equal(spec.clusterIPs, ["None"])
  if (ports.length === 0 && !headless && type !== "ExternalName") yield FieldError.required("spec.ports")
  if (hasNodePorts(spec) && headless) {
    yield FieldError.invalid("spec.clusterIPs[0]", "None", `may not be set to 'None' for ${type} services`)
  }
  if (type === "ExternalName") yield* externalName(spec)
  const names = new Set<string>()
  for (const [index, port] of ports.entries())
    yield* portMistakes(`spec.ports[${index}]`, port, ports.length > 1, names)
  yield* Check.labels("spec.selector", spec.selector)
  yield* Check.word("spec.sessionAffinity", spec.sessionAffinity, ["ClientIP", "None"])
  if (spec.sessionAffinity === "ClientIP") {
    const seconds = Json.number(Json.at(spec, "sessionAffinityConfig", "clientIP", "timeoutSeconds")) ?? 0
    if (seconds <= 0 || seconds > 86_400) {
      yield FieldError.invalid(
        "spec.sessionAffinityConfig.clientIP.timeoutSeconds",
        seconds,
        "must be greater than 0 and less than 86400"
      )
    }
  }
  if (type !== "ExternalName") yield* addresses(spec)
  yield* Check.word("spec.type", type, ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"])
  yield* portsTogether(spec, ports)
  const ranges = Json.list(spec.loadBalancerSourceRanges)
  if (ranges.length > 0 && type !== "LoadBalancer") {
    yield FieldError.forbidden("spec.LoadBalancerSourceRanges", "may only be used when `type` is 'LoadBalancer'")
  }
  for (const [index, range] of ranges.entries()) {
    yield* Check.text(`spec.LoadBalancerSourceRanges[${index}]`, String(range).trim(), Format.cidr)
  }
  if (spec.allocateLoadBalancerNodePorts !== undefined && type !== "LoadBalancer") {
    yield FieldError.forbidden("spec.allocateLoadBalancerNodePorts", "may only be used when `type` is 'LoadBalancer'")
  }
  if (spec.loadBalancerClass !== undefined && type !== "LoadBalancer") {
    yield FieldError.forbidden("spec.loadBalancerClass", "may only be used when `type` is 'LoadBalancer'")
  }
  yield* policies(spec)
}

/**
 * What keeps a Service from getting addresses; nothing else is told, then. As in envtest's kube-apiserver there are addresses of
 * IPv4 only.
 */
export function* allocation(spec: JsonObject, before?: JsonObject): Errors {
  if (spec.type === "ExternalName") return
  const related = [...addresses(spec)]
  if (related.length > 0) return yield* related
  const policy = spec.ipFamilyPolicy ?? before?.ipFamilyPolicy ?? "SingleStack"
  const families = Json.list(spec.ipFamilies)
  const wrong = (text: string) => FieldError.invalid("spec.ipFamilyPolicy", policy, text)
  if (policy === "SingleStack" && families.length === 2) {
    return yield wrong("must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are specified")
  }
  const reduced = families.length > 0 && families.length < Json.list(before?.ipFamilies).length
  if (policy !== "SingleStack" && reduced) {
    return yield wrong("must be 'SingleStack' to release the secondary IP family")
  }
  if (isHeadless(spec) && Object.keys(Json.object(spec.selector)).length === 0) return
  if (policy === "RequireDualStack") yield wrong("this cluster is not configured for dual-stack services")
  for (const [index, family] of families.entries()) {
    if (family !== "IPv4") {
      yield FieldError.invalid(`spec.ipFamilies[${index}]`, family, "not configured on this cluster")
    }
  }
}

/** What of a change is wrong. */
export function* change(spec: JsonObject, before: JsonObject): Errors {
  if (spec.type === "ExternalName" || before.type === "ExternalName") return
  if (isHeadless(spec) && isHeadless(before)) return
  const given = Json.list(spec.clusterIPs)
  const old = Json.list(before.clusterIPs)
  const [first] = old
  if (first !== undefined && given.length === 0) {
    yield FieldError.invalid("spec.clusterIPs[0]", given, "primary clusterIP can not be unset")
  } else if (first !== undefined && given[0] !== first) {
    yield FieldError.invalid("spec.clusterIPs[0]", given, "may not change once set")
  }
}

/** That the address and the ports are free. */
export function* takenMistakes(service: JsonObject, { stored }: Writing): Errors {
  const spec = Json.object(service.spec)
  const taken = Allocation.taken(stored("/services"), Json.at(service, "metadata", "uid"))
  for (const address of Json.list(spec.clusterIPs)) {
    if (typeof address !== "string" || address === "None") continue
    if (!Allocation.isOurs(address)) {
      yield FieldError.invalid(
        "spec.clusterIPs",
        spec.clusterIPs,
        `failed to allocate IP ${address}: the provided network does not match the current range`
      )
    } else if (taken.addresses.has(address)) {
      yield FieldError.invalid(
        "spec.clusterIPs",
        spec.clusterIPs,
        `failed to allocate IP ${address}: provided IP is already allocated`
      )
    }
  }
  for (const [index, { nodePort, protocol }] of Json.objects(spec.ports).entries()) {
    if (typeof nodePort !== "number") continue
    if (nodePort < Allocation.firstPort || nodePort > Allocation.lastPort) {
      yield FieldError.invalid(
        `spec.ports[${index}].nodePort`,
        nodePort,
        `provided port is not in the valid range. The range of valid ports is ${Allocation.firstPort}-${Allocation.lastPort}`
      )
    } else if (taken.ports.has(`${protocol}/${nodePort}`)) {
      yield FieldError.invalid(`spec.ports[${index}].nodePort`, nodePort, "provided port is already allocated")
    }
  }
}

function* externalName(spec: JsonObject): Errors {
  for (const name of ["clusterIPs", "ipFamilies", "ipFamilyPolicy"]) {
    if (spec[name] !== undefined) yield FieldError.forbidden(`spec.${name}`, "may not be set for ExternalName services")
  }
  const name = (Json.text(spec.externalName) ?? "").replace(/\.$/, "")
  if (name === "") yield FieldError.required("spec.externalName")
  else yield* Check.text("spec.externalName", name, Format.dnsSubdomain)
}

function* portMistakes(field: string, port: JsonObject, named: boolean, names: Set<string>): Errors {
  const name = Json.text(port.name) ?? ""
  if (named && name === "") yield FieldError.required(`${field}.name`)
  else if (name !== "") {
    yield* Check.text(`${field}.name`, name, Format.dnsLabel)
    if (names.has(name)) yield FieldError.duplicate(`${field}.name`, name)
    names.add(name)
  }
  yield* Check.between(`${field}.port`, port.port ?? 0, 1, 65535)
  yield* Check.word(`${field}.protocol`, port.protocol, ["SCTP", "TCP", "UDP"])
  const target = port.targetPort
  if (typeof target === "string") yield* Check.text(`${field}.targetPort`, target, Format.portName)
  else yield* Check.between(`${field}.targetPort`, target ?? 0, 1, 65535)
  const protocol = Json.text(port.appProtocol)
  if (protocol !== undefined) yield* Check.text(`${field}.appProtocol`, protocol, Format.labelKey)
}

function* addresses(spec: JsonObject): Errors {
  const { clusterIP } = spec
  const given = Json.list(spec.clusterIPs)
  if (clusterIP !== undefined && given.length === 0) yield FieldError.required("spec.clusterIPs")
  else if (clusterIP !== undefined && given[0] !== clusterIP) {
    yield FieldError.invalid("spec.clusterIPs", given, "first value must match `clusterIP`")
  }
  const policy = spec.ipFamilyPolicy
  if (policy !== undefined) {
    yield* Check.word("spec.ipFamilyPolicy", policy, ["PreferDualStack", "RequireDualStack", "SingleStack"])
  }
  const families = Json.list(spec.ipFamilies)
  for (const [index, family] of families.entries()) {
    yield* Check.word(`spec.ipFamilies[${index}]`, family, ["IPv4", "IPv6"])
    if (families.indexOf(family) < index) yield FieldError.duplicate(`spec.ipFamilies[${index}]`, family)
  }
  for (const [index, address] of given.entries()) {
    if (index === 0 && address === "None") continue
    yield* Check.text(`spec.clusterIPs[${index}]`, String(address), Format.ip)
    const family = String(address).includes(":") ? "IPv6" : "IPv4"
    const wanted = families[index]
    if ((wanted === "IPv4" || wanted === "IPv6") && wanted !== family) {
      yield FieldError.invalid(
        `spec.clusterIPs[${index}]`,
        address,
        `expected an ${wanted} value as indicated by \`ipFamilies[${index}]\``
      )
    }
  }
}

function* portsTogether(spec: JsonObject, ports: ReadonlyArray<JsonObject>): Errors {
  if (spec.type === "ClusterIP") {
    for (const [index, { nodePort }] of ports.entries()) {
      if (nodePort !== undefined) {
        yield FieldError.forbidden(`spec.ports[${index}].nodePort`, "may not be used when `type` is 'ClusterIP'")
      }
    }
  }
  const seen = new Set<string>()
  for (const [index, { nodePort, protocol }] of ports.entries()) {
    if (nodePort === undefined) continue
    if (seen.has(`${protocol}/${nodePort}`)) yield FieldError.duplicate(`spec.ports[${index}].nodePort`, nodePort)
    seen.add(`${protocol}/${nodePort}`)
  }
  seen.clear()
  for (const [index, { port, protocol }] of ports.entries()) {
    if (seen.has(`${protocol}/${port}`)) {
      // The Go type of the port as a kube-apiserver compares it, all else left out.
      yield FieldError.duplicate(`spec.ports[${index}]`, {
        Name: "",
        Protocol: protocol ?? "",
        AppProtocol: null,
        Port: port ?? 0,
        TargetPort: 0,
        NodePort: 0
      })
    }
    seen.add(`${protocol}/${port}`)
  }
}

function* policies(spec: JsonObject): Errors {
  const external = Json.text(spec.externalTrafficPolicy) ?? ""
  if (isExternal(spec)) {
    yield* Check.word("spec.externalTrafficPolicy", external, ["Cluster", "Local"])
  } else if (external !== "") {
    yield FieldError.invalid(
      "spec.externalTrafficPolicy",
      external,
      "may only be set for externally-accessible services"
    )
  }
  const check = spec.healthCheckNodePort
  if (check !== undefined && !needsHealthCheck(spec)) {
    yield FieldError.invalid(
      "spec.healthCheckNodePort",
      check,
      "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
    )
  }
  if (check === undefined && needsHealthCheck(spec)) yield FieldError.required("spec.healthCheckNodePort")
  const internal = spec.internalTrafficPolicy
  if (internal !== undefined) {
    yield* Check.word("spec.internalTrafficPolicy", internal, ["Cluster", "Local"])
  }
}
