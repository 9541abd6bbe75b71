/** v1 Endpoints and discovery.k8s.io/v1 EndpointSlice. */
import * as FieldError from "../../model/FieldError.ts"
import * as Format from "../../model/Format.ts"
import type { JsonObject } from "../../model/Json.ts"
import * as Json from "../../model/Json.ts"
import * as Check from "../Check.ts"
import { type Definition, drafts, type Errors, fill, strategy } from "../Definition.ts"

/** The format of an endpoint address: an IP that is not unspecified, loopback or link-local. */
const reachable: Format.Format = (ip) => {
  const wrong = Format.ip(ip)
  if (wrong.length > 0) return [...wrong, "must be a valid IP address"]
  if (ip === "0.0.0.0" || ip === "::") return [`may not be unspecified (${ip})`]
  if (ip.startsWith("127.") || ip === "::1") return ["may not be in the loopback range (127.0.0.0/8, ::1/128)"]
  return /^(169\.254\.|fe[89ab])/i.test(ip) ? ["may not be in the link-local range (169.254.0.0/16, fe80::/10)"] : []
}

function* subsets(object: JsonObject): Errors {
  for (const [index, subset] of Json.objects(object.subsets).entries()) {
    const at = `subsets[${index}]`
    const ready = Json.objects(subset.addresses)
    const others = Json.objects(subset.notReadyAddresses)
    if (ready.length + others.length === 0) {
      yield FieldError.required(at, "must specify `addresses` or `notReadyAddresses`")
    }
    for (const [name, addresses] of [
      ["addresses", ready],
      ["notReadyAddresses", others]
    ] as const) {
      for (const [number, address] of addresses.entries()) {
        yield* Check.text(`${at}.${name}[${number}].ip`, Json.text(address.ip) ?? "", reachable)
        const host = Json.text(address.hostname) ?? ""
        if (host !== "") yield* Check.text(`${at}.${name}[${number}].hostname`, host, Format.dnsLabel)
      }
    }
    const ports = Json.objects(subset.ports)
    for (const [number, port] of ports.entries()) {
      const field = `${at}.ports[${number}]`
      const name = Json.text(port.name) ?? ""
      if (name !== "") yield* Check.text(`${field}.name`, name, Format.dnsLabel)
      else if (ports.length > 1) yield FieldError.required(`${field}.name`)
      yield* Check.between(`${field}.port`, port.port ?? 0, 1, 65535)
      yield* Check.word(`${field}.protocol`, port.protocol, ["SCTP", "TCP", "UDP"])
    }
  }
}

/** The definition of Endpoints. */
export const endpoints: Definition = {
  group: "",
  version: "v1",
  kind: "Endpoints",
  strategy: strategy({
    shape: "core/v1.Endpoints",
    default: (draft) => {
      for (const subset of drafts(draft, "subsets")) {
        for (const port of drafts(subset, "ports")) fill(port, "protocol", "TCP")
      }
    },
    validate: subsets
  }),
  createOnUpdate: true,
  unconditionalUpdate: true
}

const families = ["FQDN", "IPv4", "IPv6"]

function* slice(object: JsonObject): Errors {
  const names = new Set<string>()
  for (const [index, port] of Json.objects(object.ports).entries()) {
    const name = Json.text(port.name) ?? ""
    const at = `ports[${index}]`
    if (name !== "") yield* Check.text(`${at}.name`, name, Format.dnsLabel)
    if (names.has(name)) yield FieldError.duplicate(`${at}.name`, name)
    names.add(name)
    yield* Check.word(`${at}.protocol`, port.protocol, ["SCTP", "TCP", "UDP"])
  }
  const family = Json.text(object.addressType) ?? ""
  if (family === "") yield FieldError.required("addressType")
  else if (!families.includes(family)) yield FieldError.notSupported("addressType", family, families)
  for (const [index, endpoint] of Json.objects(object.endpoints).entries()) {
    const addresses = Json.list(endpoint.addresses)
    const at = `endpoints[${index}].addresses`
    if (addresses.length === 0) yield FieldError.required(at)
    for (const [number, address] of addresses.entries()) {
      const text = Json.text(address) ?? ""
      if (family === "IPv4" && !Format.isIpv4(text)) {
        yield FieldError.invalid(`${at}[${number}]`, text, "must be a valid IPv4 address")
      }
      if (family === "IPv6" && !Format.isIpv6(text)) {
        yield FieldError.invalid(`${at}[${number}]`, text, "must be a valid IPv6 address")
      }
      if (family === "FQDN") yield* Check.text(`${at}[${number}]`, text, Format.dnsSubdomain)
    }
  }
}

/** The definition of EndpointSlice. */
export const endpointSlice: Definition = {
  group: "discovery.k8s.io",
  version: "v1",
  kind: "EndpointSlice",
  strategy: strategy({
    shape: "discovery/v1.EndpointSlice",
    generation: [["addressType"], ["endpoints"], ["ports"], ["metadata", "labels"], ["metadata", "annotations"]],
    default: (draft) => {
      for (const port of drafts(draft, "ports")) {
        fill(port, "name", "")
        fill(port, "protocol", "TCP")
      }
    },
    validate: slice,
    *validateUpdate(object, old) {
      yield* slice(object)
      if (object.addressType !== old.addressType) {
        yield FieldError.invalid("addressType", null, "field is immutable")
      }
    }
  }),
  unconditionalUpdate: true
}
