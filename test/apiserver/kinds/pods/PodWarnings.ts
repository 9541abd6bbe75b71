/**
 * Warnings about probable mistakes in valid Pods and Pod templates.
 *
 * Not implemented: warnings about deprecated volumes, affinities, and unusual forms of addresses.
 */

import * as Format from "../../model/Format.ts"
import type { JsonObject } from "../../model/Json.ts"
import * as Json from "../../model/Json.ts"
import * as Quantity from "../../model/Quantity.ts"
import * as AppArmor from "./AppArmor.ts"

/** The texts of warnings. */
type Warnings = Iterable<string>

/** Yields the warnings about a Pod (empty path), or about the template at a path that ends with a dot. */
export function* of(path: string, pod: JsonObject): Warnings {
  const spec = Json.object(pod.spec)
  for (const label of Object.keys(Json.object(spec.nodeSelector))) {
    const text = deprecatedLabels.get(label)
    if (text !== undefined) yield `${path}spec.nodeSelector[${label}]: ${text}`
  }
  yield* repeated(`${path}spec.hostAliases`, spec.hostAliases, "ip")
  yield* repeated(`${path}spec.imagePullSecrets`, spec.imagePullSecrets, "name")
  for (const [index, { name }] of Json.objects(spec.imagePullSecrets).entries()) {
    if ((name ?? "") === "") yield `${path}spec.imagePullSecrets[${index}].name: invalid empty name ""`
  }
  const containers = [...containersOf(`${path}spec`, spec)]
  yield* ofAnnotations(path, pod, containers)
  for (const [path, container] of containers) {
    yield* fractions(`${path}.resources`, Json.object(container.resources))
    yield* hidden(`${path}.env`, Json.objects(container.env))
  }
  yield* ports(containers)
  yield* portNames(containers)
  if ((Json.number(spec.terminationGracePeriodSeconds) ?? 0) < 0) {
    yield `${path}spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1`
  }
}

const noFunction = new Map([
  ["scheduler.alpha.kubernetes.io/critical-pod", 'non-functional in v1.16+; use the "priorityClassName" field instead'],
  ["security.alpha.kubernetes.io/sysctls", 'non-functional in v1.11+; use the "sysctls" field instead'],
  ["security.alpha.kubernetes.io/unsafe-sysctls", 'non-functional in v1.11+; use the "sysctls" field instead']
])

const seccomp = 'non-functional in v1.27+; use the "seccompProfile" field instead'

/** Yields warnings about annotations that fields have replaced. `AppArmor.sync` already warns about the AppArmor annotations of a Pod. */
function* ofAnnotations(path: string, pod: JsonObject, containers: ReadonlyArray<Container>): Warnings {
  const annotations = Json.texts(Json.at(pod, "metadata", "annotations"))
  const at = (key: string, text: string) => `${path}metadata.annotations[${key}]: ${text}`
  for (const [key, text] of noFunction) if (annotations[key] !== undefined) yield at(key, text)
  const holders: ReadonlyArray<readonly [string, JsonObject]> = [
    ["seccomp.security.alpha.kubernetes.io/pod", Json.object(pod.spec)],
    ...containers.map(
      ([, container]) => [`container.seccomp.security.alpha.kubernetes.io/${container.name}`, container] as const
    )
  ]
  for (const [key, holder] of holders) {
    if (annotations[key] === undefined) continue
    if (Json.at(holder, "securityContext", "seccompProfile") === undefined) yield at(key, seccomp)
  }
  if (path === "") return
  for (const [, container] of containers) {
    const warning = AppArmor.warning(path, pod, container)
    if (warning !== undefined) yield warning
  }
}

/** Yields the warnings about the template at a path. Yields none if the update keeps `metadata.generation` of `old`. */
export function* ofTemplate(path: string, object: JsonObject, old?: JsonObject): Warnings {
  const generation = (of: JsonObject | undefined) => Json.at(of, "metadata", "generation")
  if (old !== undefined && generation(object) === generation(old)) return
  yield* of(`${path}.`, Json.object(Json.at(object, ...path.split("."))))
}

/** Yields a warning if the name is not a DNS label. `use`: the values that contain the name. */
export function* ofName(object: JsonObject, use: string): Warnings {
  const errors = Format.dnsLabel(Json.text(Json.at(object, "metadata", "name")) ?? "")
  if (errors.length === 0) return
  yield `metadata.name: this is used in ${use}, which can result in surprising behavior; a DNS label is recommended: [${errors.join(" ")}]`
}

/** The warnings by deprecated node label. */
export const deprecatedLabels: ReadonlyMap<string, string> = new Map([
  ["beta.kubernetes.io/arch", 'deprecated since v1.14; use "kubernetes.io/arch" instead'],
  ["beta.kubernetes.io/os", 'deprecated since v1.14; use "kubernetes.io/os" instead'],
  ["failure-domain.beta.kubernetes.io/region", 'deprecated since v1.17; use "topology.kubernetes.io/region" instead'],
  ["failure-domain.beta.kubernetes.io/zone", 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead'],
  ["beta.kubernetes.io/instance-type", 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead']
])

type Container = readonly [path: string, container: JsonObject]

function* containersOf(path: string, spec: JsonObject): Iterable<Container> {
  for (const name of ["initContainers", "containers", "ephemeralContainers"]) {
    for (const [index, container] of Json.objects(spec[name]).entries()) yield [`${path}.${name}[${index}]`, container]
  }
}

function* repeated(path: string, items: Json.Json | undefined, key: string): Warnings {
  const seen = new Set<string>()
  for (const [index, item] of Json.objects(items).entries()) {
    const value = Json.text(item[key]) ?? ""
    if (seen.has(value)) yield `${path}[${index}].${key}: duplicate ${key} ${JSON.stringify(value)}`
    seen.add(value)
  }
}

const whole = 1_000_000_000n

function* fractions(path: string, resources: JsonObject): Warnings {
  for (const resource of ["memory", "ephemeral-storage"]) {
    for (const bound of ["limits", "requests"]) {
      const amount = Json.at(resources, bound, resource)
      if (amount !== undefined && Quantity.amount(String(amount)) % whole !== 0n) {
        yield `${path}.${bound}[${resource}]: fractional byte value ${JSON.stringify(amount)} is invalid, must be an integer`
      }
    }
  }
}

/** Yields a warning for each variable that hides an earlier definition without a reference to it. */
function* hidden(path: string, variables: ReadonlyArray<JsonObject>): Warnings {
  const seen = new Set<string>()
  for (const [index, { name: given, value: text, valueFrom }] of variables.entries()) {
    const name = Json.text(given) ?? ""
    const reference = `$(${name})`
    const value = Json.text(text) ?? ""
    if (!seen.has(name)) seen.add(name)
    else if (valueFrom !== undefined || value === reference || !value.includes(reference)) {
      yield `${path}[${index}]: hides previous definition of ${JSON.stringify(name)}, which may be dropped when using apply`
    }
  }
}

function* ports(containers: ReadonlyArray<Container>): Warnings {
  const seen = new Map<string, Array<Container>>()
  for (const [path, port] of portsOf(containers)) {
    const key = `${port.containerPort}/${port.protocol}`
    const others = seen.get(key) ?? []
    for (const [other, before] of others) {
      const how = clash(port, before)
      if (how !== undefined) yield `${path}: ${how} port definition with ${other}`
    }
    seen.set(key, [...others, [path, port]])
  }
}

const clash = (port: JsonObject, other: JsonObject): string | undefined => {
  const [ip = "", otherIp = ""] = [port.hostIP, other.hostIP]
  const [number = 0, otherNumber = 0] = [port.hostPort, other.hostPort]
  if (ip === otherIp && number === otherNumber) return "duplicate"
  if (number === 0 || otherNumber === 0) return "overlapping"
  return number === otherNumber && (ip === "") !== (otherIp === "") ? "dangerously ambiguous" : undefined
}

function* portNames(containers: ReadonlyArray<Container>): Warnings {
  const seen = new Map<Json.Json, string>()
  for (const [path, { name = "" }] of portsOf(containers)) {
    const other = seen.get(name)
    if (name === "") continue
    if (other === undefined) seen.set(name, path)
    else {
      yield `${path}: duplicate port name ${JSON.stringify(name)} with ${other}, services and probes that select ports by name will use ${other}`
    }
  }
}

function* portsOf(containers: ReadonlyArray<Container>): Iterable<Container> {
  for (const [path, container] of containers) {
    for (const [index, port] of Json.objects(container.ports).entries()) yield [`${path}.ports[${index}]`, port]
  }
}
