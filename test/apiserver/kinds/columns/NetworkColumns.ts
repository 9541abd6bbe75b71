/**
 * The table cells of Services, Ingresses, NetworkPolicies and endpoints.
 */
import type { Json, JsonObject } from "../../model/Json.ts"
import * as J from "../../model/Json.ts"
import { type Cells, count, cut, labels, or, selector } from "./Text.ts"

/** The cells of a Service. */
export const service: Cells = {
  Type: (object) => or(J.at(object, "spec", "type"), ""),
  "Cluster-IP": (object) => {
    const [first = J.at(object, "spec", "clusterIP")] = J.list(J.at(object, "spec", "clusterIPs"))
    return or(first, "<none>")
  },
  "External-IP": (object) => externalAddress(object),
  "Port(s)": (object) =>
    J.objects(J.at(object, "spec", "ports"))
      .map(
        ({ nodePort, port, protocol }) => `${port}${nodePort === undefined ? "" : `:${nodePort}`}/${protocol ?? "TCP"}`
      )
      .join(",") || "<none>",
  Selector: (object) => labels(J.at(object, "spec", "selector"))
}

const externalAddress = (service: JsonObject): string => {
  const given = J.list(J.at(service, "spec", "externalIPs"))
  switch (J.at(service, "spec", "type")) {
    case "ClusterIP":
    case "NodePort":
      return given.join(",") || "<none>"
    case "LoadBalancer":
      return [...loadBalancers(service), ...given].join(",") || "<pending>"
    case "ExternalName":
      return or(J.at(service, "spec", "externalName"), "")
    default:
      return "<unknown>"
  }
}

/** The distinct addresses of the load balancers, sorted. */
const loadBalancers = (object: JsonObject): ReadonlyArray<string> => {
  const ingress = J.objects(J.at(object, "status", "loadBalancer", "ingress"))
  return [...new Set(ingress.map(({ hostname, ip }) => or(ip, or(hostname, ""))))].filter((one) => one !== "").sort()
}

/** The cells of an Ingress. */
export const ingress: Cells = {
  Class: (object) => J.text(J.at(object, "spec", "ingressClassName")) ?? "<none>",
  Hosts: (object) => hosts(J.objects(J.at(object, "spec", "rules"))),
  Address: (object) => loadBalancers(object).join(","),
  Ports: (object) => (J.list(J.at(object, "spec", "tls")).length === 0 ? "80" : "80, 443")
}

/** The first three hosts. The number of further rules also counts rules without a host. */
const hosts = (rules: ReadonlyArray<JsonObject>): string => {
  const named = rules.flatMap(({ host }, index) => (or(host, "") === "" ? [] : [{ host: or(host, ""), index }]))
  if (named.length === 0) return "*"
  const shown = named.slice(0, 3)
  const third = shown[2]
  const isCut = third !== undefined && rules.length > third.index + 1
  return shown.map(({ host }) => host).join(",") + (isCut ? ` + ${rules.length - 3} more...` : "")
}

/** The cells of an IngressClass. The name of the default class has the suffix ` (default)`. */
export const ingressClass: Cells = {
  Name: (object) => {
    const isDefault = J.at(object, "metadata", "annotations", "ingressclass.kubernetes.io/is-default-class") === "true"
    return `${or(J.at(object, "metadata", "name"), "")}${isDefault ? " (default)" : ""}`
  },
  Controller: (object) => or(J.at(object, "spec", "controller"), ""),
  Parameters: (object) => {
    const parameters = J.at(object, "spec", "parameters")
    if (!J.isObject(parameters)) return "<none>"
    const group = J.text(parameters.apiGroup)
    return `${or(parameters.kind, "")}${group === undefined ? "" : `.${group}`}/${or(parameters.name, "")}`
  }
}

/** The cells of a NetworkPolicy. */
export const networkPolicy: Cells = { "Pod-Selector": (object) => selector(J.at(object, "spec", "podSelector")) }

/** The cells of an Endpoints object. */
export const endpoints: Cells = {
  Endpoints: (object) => {
    const subsets = J.objects(object.subsets)
    return subsets.length === 0 ? "<none>" : cut(subsets.flatMap(addresses), 3)
  }
}

/** Each address with each port. Without ports, as a headless Service may have none, the addresses only. */
const addresses = (subset: JsonObject): ReadonlyArray<string> => {
  const ips = J.objects(subset.addresses).map(({ ip }) => or(ip, ""))
  const ports = J.objects(subset.ports)
  return ports.length === 0 ? ips : ports.flatMap(({ port }) => ips.map((ip) => hostPort(ip, port)))
}

const hostPort = (ip: string, port: Json | undefined): string => `${ip.includes(":") ? `[${ip}]` : ip}:${count(port)}`

/** The cells of an EndpointSlice. */
export const endpointSlice: Cells = {
  AddressType: (object) => or(object.addressType, ""),
  Ports: (object) =>
    cut(
      J.objects(object.ports).map(({ name, port }) => `${port ?? name ?? "*"}`),
      3
    ) || "<unset>",
  Endpoints: (object) =>
    cut(
      J.objects(object.endpoints).flatMap((endpoint) => J.list(endpoint.addresses).map((one) => `${one}`)),
      3
    ) || "<unset>"
}
