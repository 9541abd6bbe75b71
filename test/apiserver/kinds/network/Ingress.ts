/** networking.k8s.io/v1 Ingress, IngressClass and NetworkPolicy. */
import * as FieldError from "../../model/FieldError.ts"
import * as Format from "../../model/Format.ts"
import type { JsonObject } from "../../model/Json.ts"
import * as Json from "../../model/Json.ts"
import * as Check from "../Check.ts"
import { type Definition, drafts, type Errors, fill, part, spec, statusStrategy, strategy } from "../Definition.ts"

const group = "networking.k8s.io"

const ingressStrategy = strategy({
  shape: "networking/v1.Ingress",
  status: { loadBalancer: {} },
  generation: spec,
  *warnings(object, old) {
    const annotation = "kubernetes.io/ingress.class"
    const isOnlyAnnotated =
      Json.at(object, "metadata", "annotations", annotation) !== undefined &&
      Json.at(object, "spec", "ingressClassName") === undefined
    if (old === undefined && isOnlyAnnotated) {
      yield `annotation ${JSON.stringify(annotation)} is deprecated, please use 'spec.ingressClassName' instead`
    }
  },
  validate: (object) => validateIngress(Json.object(object.spec))
})

function* validateIngress(given: JsonObject): Errors {
  const rules = Json.objects(given.rules)
  const backend = given.defaultBackend
  if (rules.length === 0 && backend === undefined) {
    yield FieldError.invalid("spec", given.rules ?? null, "either `defaultBackend` or `rules` must be specified")
  }
  if (Json.isObject(backend)) yield* validateBackend("spec.defaultBackend", backend)
  for (const [index, { hosts }] of Json.objects(given.tls).entries()) {
    for (const [at, host] of Json.list(hosts).entries()) {
      yield* validateHost(`spec.tls[${index}].hosts[${at}]`, Json.text(host) ?? "")
    }
  }
  for (const [index, rule] of rules.entries()) yield* validateRules(`spec.rules[${index}]`, rule)
  const name = given.ingressClassName
  if (typeof name === "string") yield* Check.text("spec.ingressClassName", name, Format.dnsSubdomain)
}

function* validateHost(field: string, host: string): Errors {
  if (host === "") return
  yield* Check.text(field, host, host.includes("*") ? Format.wildcardSubdomain : Format.dnsSubdomain)
}

function* validateRules(field: string, rule: JsonObject): Errors {
  const host = Json.text(rule.host) ?? ""
  if (Format.isIpv4(host) || Format.isIpv6(host)) {
    yield FieldError.invalid(`${field}.host`, host, "must be a DNS name, not an IP address")
  } else yield* validateHost(`${field}.host`, host)
  const http = rule.http
  if (!Json.isObject(http)) return
  const paths = Json.objects(http.paths)
  if (paths.length === 0) yield FieldError.required(`${field}.http.paths`)
  for (const [index, path] of paths.entries()) yield* validatePath(`${field}.http.paths[${index}]`, path)
}

const pathTypes = ["Exact", "ImplementationSpecific", "Prefix"]

function* validatePath(field: string, given: JsonObject): Errors {
  const type = given.pathType
  const path = Json.text(given.path) ?? ""
  if (typeof type !== "string") {
    return yield FieldError.required(`${field}.pathType`, "pathType must be specified")
  }
  if (!pathTypes.includes(type)) yield FieldError.notSupported(`${field}.pathType`, type, pathTypes)
  else if (type === "ImplementationSpecific" ? path !== "" && !path.startsWith("/") : !path.startsWith("/")) {
    yield FieldError.invalid(`${field}.path`, path, "must be an absolute path")
  }
  if (type !== "ImplementationSpecific") {
    for (const part of ["//", "/./", "/../", "%2f", "%2F"]) {
      if (path.includes(part)) yield FieldError.invalid(`${field}.path`, path, `must not contain '${part}'`)
    }
    for (const end of ["/..", "/."]) {
      if (path.endsWith(end)) yield FieldError.invalid(`${field}.path`, path, `cannot end with '${end}'`)
    }
  }
  yield* validateBackend(`${field}.backend`, Json.object(given.backend))
}

function* validateBackend(field: string, { resource, service }: JsonObject): Errors {
  if (resource !== undefined && service !== undefined) {
    return yield FieldError.invalid(field, "", "cannot set both resource and service backends")
  }
  if (resource !== undefined) return
  if (!Json.isObject(service)) return yield FieldError.invalid(field, "", "resource or service backend is required")
  yield* Check.requiredText(`${field}.service.name`, service.name, Format.dnsLabel)
  const port = Json.object(service.port)
  const name = Json.text(port.name) ?? ""
  const number = Json.number(port.number) ?? 0
  if (name !== "" && number !== 0) {
    yield FieldError.invalid(field, "", "cannot set both port name & port number")
  } else if (name !== "") yield* Check.text(`${field}.service.port.name`, name, Format.portName)
  else if (number !== 0) yield* Check.between(`${field}.service.port.number`, number, 1, 65535)
  else yield FieldError.required(field, "port name or number is required")
}

/** The definition of Ingress. */
export const ingress: Definition = {
  group,
  version: "v1",
  kind: "Ingress",
  strategy: ingressStrategy,
  status: statusStrategy(ingressStrategy, "networking/v1.Ingress"),
  unconditionalUpdate: true
}

/** The definition of IngressClass. */
export const ingressClass: Definition = {
  group,
  version: "v1",
  kind: "IngressClass",
  strategy: strategy({
    shape: "networking/v1.IngressClass",
    generation: spec,
    default: (draft) => {
      const parameters = part(part(draft, "spec"), "parameters")
      if (parameters !== undefined && (parameters.scope ?? null) === null) parameters.scope = "Cluster"
    },
    *validateUpdate(object, old) {
      yield* Check.immutable(
        "spec.controller",
        Json.at(object, "spec", "controller"),
        Json.at(old, "spec", "controller")
      )
    }
  }),
  unconditionalUpdate: true
}

/** The definition of NetworkPolicy. */
export const networkPolicy: Definition = {
  group,
  version: "v1",
  kind: "NetworkPolicy",
  strategy: strategy({
    shape: "networking/v1.NetworkPolicy",
    generation: spec,
    default: (draft) => {
      const given = Json.member(draft, "spec")
      for (const direction of ["ingress", "egress"]) {
        for (const rule of drafts(given, direction)) {
          for (const port of drafts(rule, "ports")) fill(port, "protocol", "TCP")
        }
      }
      const types = Json.list(given.egress).length > 0 ? ["Ingress", "Egress"] : ["Ingress"]
      fill(given, "policyTypes", types)
    },
    *validate(object) {
      yield* Check.labelSelector("spec.podSelector", Json.at(object, "spec", "podSelector"))
      const types = Json.list(Json.at(object, "spec", "policyTypes"))
      for (const [index, type] of types.entries()) {
        yield* Check.word(`spec.policyTypes[${index}]`, type, ["Egress", "Ingress"])
      }
    }
  }),
  unconditionalUpdate: true
}
