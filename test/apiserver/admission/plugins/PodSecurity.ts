/**
 * The admission plugin PodSecurity. The labels `pod-security.kubernetes.io/…` of a namespace select the Pod Security Standards that it
 * enforces for pods, and those that it only warns about.
 */

import { type Attributes, isNamespaces } from "../../model/Attributes.ts"
import * as Failure from "../../model/Failure.ts"
import * as FieldError from "../../model/FieldError.ts"
import { at, equal, type JsonObject, object, objects, texts } from "../../model/Json.ts"
import type { Writing } from "../../model/Kind.ts"
import { nameOf } from "../../model/ObjectMeta.ts"
import type { ServerState } from "../ServerState.ts"
import type { Template, Violation } from "./PodSecurityChecks.ts"
import { type Level, latest, levels, violations } from "./PodSecurityStandards.ts"

const prefix = "pod-security.kubernetes.io/"

/** A level and a version of the Pod Security Standards. */
interface Standard {
  readonly level: Level
  readonly version: string
}

/** The standards of a namespace. */
interface Policy {
  readonly enforce: Standard
  readonly warn: Standard
  readonly errors: ReadonlyArray<FieldError.FieldError>
}

const unlimited: Standard = { level: "privileged", version: "latest" }

const isLevel = (text: string): text is Level => levels.some((level) => level === text)

/** The standards that the labels of a namespace select. An invalid label of `enforce` selects the strictest level. */
const policyOf = (namespace: JsonObject | undefined): Policy => {
  const labels = texts(at(namespace, "metadata", "labels"))
  const errors: Array<FieldError.FieldError> = []
  const read = (mode: string, wrong: Level): { readonly [Part in keyof Standard]?: Standard[Part] } => {
    const [level, version] = [labels[prefix + mode], labels[`${prefix}${mode}-version`]]
    const report = (name: string, value: string, message: string) =>
      errors.push(FieldError.invalid(`metadata.labels[${prefix}${name}]`, value, message))
    if (level !== undefined && !isLevel(level)) report(mode, level, `must be one of ${levels.join(", ")}`)
    const isVersion = version === undefined || version === "latest" || /^v1\.([0-9]|[1-9][0-9]*)$/.test(version)
    if (!isVersion) report(`${mode}-version`, version, 'must be "latest" or "v1.x"')
    return {
      ...(level !== undefined && { level: isLevel(level) ? level : wrong }),
      ...(version !== undefined && { version: isVersion ? version : "latest" })
    }
  }
  const enforce = { ...unlimited, ...read("enforce", "restricted") }
  read("audit", "privileged")
  const own = read("warn", "privileged")
  const isEnforced = isLevel(labels[`${prefix}enforce`] ?? "") && enforce.level !== "privileged"
  // Without the label `warn`, the warnings use a valid label of `enforce`.
  const warn =
    own.level === undefined && isEnforced
      ? { level: enforce.level, version: own.version ?? enforce.version }
      : { ...unlimited, ...own }
  return { enforce, warn, errors }
}

const shown = ({ level, version }: Standard): string => `${level}:${version}`

const check = ({ level, version }: Standard, template: Template): ReadonlyArray<Violation> =>
  violations(level, version === "latest" ? latest : Number(version.slice(3)), template)

const details = (all: ReadonlyArray<Violation>): string =>
  all.map(({ detail, reason }) => `${reason} (${detail})`).join(", ")

/** The paths of pod templates by resource. */
const templates: ReadonlyMap<string, ReadonlyArray<string>> = new Map([
  ["replicationcontrollers", ["spec", "template"]],
  ["podtemplates", ["template"]],
  ["apps/replicasets", ["spec", "template"]],
  ["apps/deployments", ["spec", "template"]],
  ["apps/statefulsets", ["spec", "template"]],
  ["apps/daemonsets", ["spec", "template"]],
  ["batch/jobs", ["spec", "template"]],
  ["batch/cronjobs", ["spec", "jobTemplate", "spec", "template"]]
])

const templateOf = (holder: JsonObject): Template => ({ metadata: object(holder.metadata), spec: object(holder.spec) })

/**
 * Throws a Failure if a pod violates the enforced standard or a label of a namespace is invalid. Warns about pod templates and other pods.
 */
export const validate = (state: ServerState, attributes: Attributes, writing: Writing): void => {
  const { object: given, operation, resource, subresource } = attributes
  if (given === null || operation === "DELETE") return
  if (isNamespaces(resource)) {
    if (subresource === "") ofNamespace(attributes, given, writing)
    return
  }
  const groupResource = resource.group === "" ? resource.plural : `${resource.group}/${resource.plural}`
  const isPod = groupResource === "pods"
  const path = templates.get(groupResource)
  if (isPod ? ignored.has(subresource) : path === undefined || subresource !== "") return
  const namespace = state.store.get("/namespaces", "", attributes.namespace)
  const { enforce, warn } = policyOf(namespace)
  if (enforce.level === "privileged" && warn.level === "privileged") return
  if (isPod && attributes.oldObject !== null && !isSignificant(given, attributes.oldObject)) return
  const holder = isPod ? given : at(given, ...(path ?? []))
  if (holder === undefined || holder === null) return
  const template = templateOf(object(holder))
  if (isPod) {
    const found = check(enforce, template)
    if (found.length > 0) {
      throw Failure.forbidden(resource, attributes.name, `violates PodSecurity "${shown(enforce)}": ${details(found)}`)
    }
  }
  const found = check(warn, template)
  if (found.length > 0) writing.warn(`would violate PodSecurity "${shown(warn)}": ${details(found)}`)
}

/** The subresources of a pod that do not change its containers. */
const ignored = new Set(["exec", "attach", "binding", "eviction", "log", "portforward", "proxy", "status"])

/** True if an update changes the containers. Only the images of existing containers can change. */
const isSignificant = ({ spec }: JsonObject, { spec: before }: JsonObject): boolean =>
  ["containers", "initContainers", "ephemeralContainers"].some((list) => {
    const [now, old] = [objects(at(spec, list)), objects(at(before, list))]
    return (
      now.length !== old.length ||
      now.some(({ image, name }, index) =>
        list === "ephemeralContainers"
          ? old.find((other) => other.name === name)?.image !== image
          : old[index]?.image !== image
      )
    )
  })

const ofNamespace = (
  { name, object: given, oldObject, resource }: Attributes,
  namespace: JsonObject,
  writing: Writing
) => {
  if (given === null) return
  const { enforce, errors } = policyOf(namespace)
  const before = oldObject === null ? undefined : policyOf(oldObject)
  const isNew = before === undefined || !equal(errors as never, before.errors as never)
  if (errors.length > 0 && isNew) throw Failure.invalid(resource, name, errors)
  if (before === undefined || shown(before.enforce) === shown(enforce) || enforce.level === "privileged") return
  const isRelaxed = levels.indexOf(enforce.level) <= levels.indexOf(before.enforce.level)
  if (enforce.version === before.enforce.version && isRelaxed) return
  for (const text of ofExisting(name, enforce, writing.stored("/pods", name))) writing.warn(text)
}

/** The warnings about existing pods after a change of the namespace's level. */
const ofExisting = (namespace: string, enforce: Standard, pods: ReadonlyArray<JsonObject>): ReadonlyArray<string> => {
  const byReason = new Map<string, Array<string>>()
  for (const pod of pods) {
    const reason = check(enforce, templateOf(pod))
      .map((violation) => violation.reason)
      .join(", ")
    if (reason !== "") byReason.set(reason, [...(byReason.get(reason) ?? []), nameOf(pod)])
  }
  if (byReason.size === 0) return []
  const each = [...byReason].map(([reason, names]) => {
    const others = names.length - 1
    const more = others === 0 ? "" : ` (and ${others} other ${others === 1 ? "pod" : "pods"})`
    return `${names.toSorted()[0]}${more}: ${reason}`
  })
  return [
    `existing pods in namespace "${namespace}" violate the new PodSecurity enforce level "${shown(enforce)}"`,
    ...each.sort()
  ]
}
