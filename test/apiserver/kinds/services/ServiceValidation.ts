/**
 * Validation of v1 Services.
 */
import * as FieldError from "../../model/FieldError.ts"
import * as Format from "../../model/Format.ts"
import type { JsonObject } from "../../model/Json.ts"
import * as Json from "../../model/Json.ts"
import type { Writing } from "../../model/Kind.ts"
import { keyOfObject } from "../../model/ObjectMeta.ts"
import * as Check from "../Check.ts"
import type { Errors } from "../Definition.ts"
import * as Allocation from "./Allocation.ts"

/** True for the types that have cluster IPs. A headless Service counts too. */
export const hasClusterIp = ({ type }: JsonObject): boolean =>
  type === "ClusterIP" || type === "NodePort" || type === "LoadBalancer"

/** True for the types that have node ports. */
export const hasNodePorts = ({ type }: JsonObject): boolean => type === "NodePort" || type === "LoadBalancer"

/** True if clients outside of the cluster reach the Service: by node ports, a load balancer or `externalIPs`. */
export const isExternal = (spec: JsonObject): boolean =>
  hasNodePorts(spec) || (spec.type === "ClusterIP" && Json.list(spec.externalIPs).length > 0)

/** True for ExternalName: a DNS alias of an external host, without a cluster IP. */
export const isName = ({ type }: JsonObject): boolean => type === "ExternalName"

/** The IP family of a well-formed address. */
export const familyOf = (address: string): "IPv4" | "IPv6" => (address.includes(":") ? "IPv6" : "IPv4")

/** True for a headless Service, by `clusterIP`. */
export const isHeadless = (spec: JsonObject): boolean => spec.clusterIP === "None"

/** True for a headless Service, by `clusterIPs`. */
const hasNoAddress = (spec: JsonObject): boolean => Json.equal(spec.clusterIPs, ["None"])

/** True if the load balancer has to check each node, by `healthCheckNodePort`. */
export const needsHealthCheck = ({ externalTrafficPolicy, type }: JsonObject): boolean =>
  type === "LoadBalancer" && externalTrafficPolicy === "Local"

/** Yields the errors of a Service's `spec`. `before`: the old `spec` of an update. */
export function* validate(spec: JsonObject, before?: JsonObject): Errors {
  const ports = Json.objects(spec.ports)
  const { type } = spec
  const headless = hasNoAddress(spec)
  if (ports.length === 0 && !headless && type !== "ExternalName") yield FieldError.required("spec.ports")
  if (hasNodePorts(spec) && headless) {
    yield FieldError.invalid("spec.clusterIPs[0]", "None", `may not be set to 'None' for ${type} services`)
  }
  if (type === "ExternalName") yield* externalName(spec)
  const names = new Set<string>()
  for (const [index, port] of ports.entries())
    yield* validatePorts(`spec.ports[${index}]`, port, ports.length > 1, names)
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
  yield* addresses(spec, before)
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
  if (spec.loadBalancerClass !== undefined) {
    if (type === "LoadBalancer")
      yield* Check.text("spec.loadBalancerClass", Json.text(spec.loadBalancerClass) ?? "", Format.labelKey)
    else yield FieldError.forbidden("spec.loadBalancerClass", "may only be used when `type` is 'LoadBalancer'")
  }
  yield* policies(spec)
}

/** Yields the errors of changed fields: cluster IPs, families and the class of the load balancer. */
export function* change(spec: JsonObject, before: JsonObject): Errors {
  if (!isName(spec) && !isName(before)) {
    const [headless, wasHeadless] = [hasNoAddress(spec), hasNoAddress(before)]
    if (!headless || !wasHeadless) yield* changed("clusterIPs", "clusterIP", spec, before)
    if (!headless && !wasHeadless) yield* changed("ipFamilies", "ipFamily", spec, before)
  }
  if (
    spec.type === "LoadBalancer" &&
    before.type === "LoadBalancer" &&
    spec.loadBalancerClass !== before.loadBalancerClass
  ) {
    yield FieldError.invalid("spec.loadBalancerClass", spec.loadBalancerClass, "may not change once set")
  }
}

/** Yields an error if `healthCheckNodePort` changes. A kube-apiserver reports it after all other errors. */
export function* healthCheckChange(spec: JsonObject, before: JsonObject): Errors {
  if (
    needsHealthCheck(spec) &&
    needsHealthCheck(before) &&
    (spec.healthCheckNodePort ?? 0) !== (before.healthCheckNodePort ?? 0)
  ) {
    yield FieldError.forbidden("spec.healthCheckNodePort", "field is immutable")
  }
}

/**
 * Yields an error if the primary value changes. An update may add a secondary value.
 * An update may release it only with the policy `SingleStack`.
 */
function* changed(name: "clusterIPs" | "ipFamilies", one: string, spec: JsonObject, before: JsonObject): Errors {
  const now = Json.list(spec[name])
  const old = Json.list(before[name])
  const at = (index: number) => `spec.${name}[${index}]`
  const kept = "may not change once set"
  if (now.length === old.length) {
    for (const [index, value] of old.entries()) {
      if (value !== now[index]) yield FieldError.invalid(at(name === "clusterIPs" ? index : 0), now, kept)
    }
    return
  }
  if (now.length < old.length && Json.list(spec.clusterIPs).length === 0) {
    yield FieldError.invalid(at(0), now, `primary ${one} can not be unset`)
  }
  // A kube-apiserver shows `clusterIPs` as the invalid value, for `ipFamilies` too.
  if (now.length > 0 && old.length > 0 && now[0] !== old[0]) yield FieldError.invalid(at(0), spec.clusterIPs, kept)
  if (now.length < old.length && now.length === 1 && spec.ipFamilyPolicy !== "SingleStack") {
    yield FieldError.invalid(
      "spec.ipFamilyPolicy",
      spec.ipFamilyPolicy,
      `must be set to 'SingleStack' when releasing the secondary ${one}`
    )
  }
}

/** Yields an error for each cluster IP and node port that is out of range or already allocated. */
export function* validateAllocated(service: JsonObject, { values }: Writing): Errors {
  const spec = Json.object(service.spec)
  const taken = values("/services", Allocation.valuesOf)
  const own = keyOfObject(service)
  for (const address of Json.list(spec.clusterIPs)) {
    if (typeof address !== "string" || address === "None") continue
    if (!Allocation.isOurs(address)) {
      yield FieldError.invalid(
        "spec.clusterIPs",
        spec.clusterIPs,
        `failed to allocate IP ${address}: the provided network does not match the current range`
      )
    } else if (taken.has(address, own)) {
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
    } else if (taken.has(`${protocol}/${nodePort}`, own)) {
      yield FieldError.invalid(`spec.ports[${index}].nodePort`, nodePort, "provided port is already allocated")
    }
  }
}

/** Yields the errors of `status.loadBalancer.ingress`. IPs of the old status are not validated again. */
export function* validateBalancer(service: JsonObject, old: JsonObject): Errors {
  const ingressOf = (of: JsonObject) => Json.objects(Json.at(of, "status", "loadBalancer", "ingress"))
  const field = "status.loadBalancer.ingress"
  const ingress = ingressOf(service)
  if (ingress.length > 0 && Json.at(service, "spec", "type") !== "LoadBalancer") {
    return yield FieldError.forbidden(field, "may only be used when `spec.type` is 'LoadBalancer'")
  }
  const known = new Set(ingressOf(old).map(({ ip }) => ip))
  for (const [index, { hostname, ip, ipMode }] of ingress.entries()) {
    const at = `${field}[${index}]`
    const address = Json.text(ip) ?? ""
    if (address !== "" && !known.has(address)) yield* Check.text(`${at}.ip`, address, Format.ip)
    if (address !== "" && ipMode === undefined) {
      yield FieldError.required(`${at}.ipMode`, "must be specified when `ip` is set")
    }
    if (address === "" && ipMode !== undefined) {
      yield FieldError.forbidden(`${at}.ipMode`, "may not be specified when `ip` is not set")
    }
    if (address !== "" && ipMode !== undefined && ipMode !== "Proxy" && ipMode !== "VIP") {
      yield FieldError.notSupported(`${at}.ipMode`, ipMode, ["Proxy", "VIP"])
    }
    const name = Json.text(hostname) ?? ""
    if (name === "") continue
    yield* Check.text(`${at}.hostname`, name, Format.dnsSubdomain)
    if (Format.ip(name).length === 0) {
      yield FieldError.invalid(`${at}.hostname`, name, "must be a DNS name, not an IP address")
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

function* validatePorts(field: string, port: JsonObject, named: boolean, names: Set<string>): Errors {
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

/** Yields the errors of `clusterIPs`, `ipFamilies` and `ipFamilyPolicy`. Old addresses are not parsed again. */
export function* addresses(spec: JsonObject, before?: JsonObject): Errors {
  if (isName(spec)) return
  const { clusterIP = "" } = spec
  const given = Json.list(spec.clusterIPs)
  const wrong = (text: string) => FieldError.invalid("spec.clusterIPs", given, text)
  if (clusterIP === "" && given.length > 0) yield wrong("must be empty when `clusterIP` is not specified")
  else if (clusterIP !== "" && given.length === 0) yield FieldError.required("spec.clusterIPs")
  else if (clusterIP !== "" && given[0] !== clusterIP) yield wrong("first value must match `clusterIP`")
  const families = Json.list(spec.ipFamilies)
  for (const [index, family] of families.entries()) {
    yield* Check.word(`spec.ipFamilies[${index}]`, family, ["IPv4", "IPv6"])
    if (families.indexOf(family) < index) yield FieldError.duplicate(`spec.ipFamilies[${index}]`, family)
  }
  const policy = spec.ipFamilyPolicy
  if (policy !== undefined) {
    const policies = ["PreferDualStack", "RequireDualStack", "SingleStack"]
    if (typeof policy !== "string" || !policies.includes(policy)) {
      yield FieldError.notSupported("spec.ipFamilyPolicy", policy, policies)
    }
  }
  const misplaced = given[0] === "None" && given.length > 1
  if (misplaced) yield wrong("'None' must be the first and only value")
  const old = new Set(Json.list(before?.clusterIPs))
  const malformed = given.flatMap((address, index) =>
    (index === 0 && address === "None") || old.has(address)
      ? []
      : [...Check.text(`spec.clusterIPs[${index}]`, String(address), Format.ip)]
  )
  yield* malformed
  if (given.length > 2) yield wrong("may only hold up to 2 values")
  if (misplaced || malformed.length > 0) return
  if (given.length > 1 && new Set(given.map((address) => familyOf(String(address)))).size < 2) {
    yield wrong("may specify no more than one IP for each IP family")
  }
  if (hasNoAddress(spec)) return
  for (const [index, address] of given.entries()) {
    const wanted = families[index]
    if ((wanted === "IPv4" || wanted === "IPv6") && wanted !== familyOf(String(address))) {
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
      // A kube-apiserver prints a ServicePort that has only the compared fields set.
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
