/**
 * Validation of Pods and Pod templates.
 */
import * as FieldError from "../../model/FieldError.ts"
import * as Format from "../../model/Format.ts"
import type { JsonObject } from "../../model/Json.ts"
import * as Json from "../../model/Json.ts"
import * as Check from "../Check.ts"
import type { Errors } from "../Definition.ts"
import { containers, initContainers } from "./ContainerValidation.ts"
import { volumes } from "./VolumeValidation.ts"

/** Yields the errors of a Pod template. */
export function* template(field: string, given: JsonObject): Errors {
  const metadata = Json.object(given.metadata)
  yield* Check.labels(`${field}.labels`, metadata.labels)
  yield* Check.annotations(`${field}.annotations`, metadata.annotations)
  yield* spec(`${field}.spec`, Json.object(given.spec), false)
  if (Json.list(Json.at(given, "spec", "ephemeralContainers")).length > 0) {
    yield FieldError.forbidden(`${field}.spec.ephemeralContainers`, "ephemeral containers not allowed in pod template")
  }
}

/** Yields the `spec` errors that Pods and templates share. `pod`: the `spec` is that of a Pod. */
export function* spec(field: string, given: JsonObject, pod: boolean): Errors {
  const mountable = new Map<string, JsonObject>()
  yield* volumes(field, given, mountable)
  yield* containers(field, given, mountable)
  yield* initContainers(field, given, mountable)
  if (given.hostNetwork === true) yield* hostNetworkPorts(`${field}.containers`, given, pod)
  yield* Check.word(`${field}.restartPolicy`, given.restartPolicy, ["Always", "OnFailure", "Never"])
  yield* Check.word(`${field}.dnsPolicy`, given.dnsPolicy, [
    "ClusterFirstWithHostNet",
    "ClusterFirst",
    "Default",
    "None"
  ])
  yield* Check.labels(`${field}.nodeSelector`, given.nodeSelector)
  yield* securityContext(`${field}.securityContext`, Json.object(given.securityContext))
  for (const [name, format] of names) {
    const value = Json.text(given[name]) ?? ""
    if (value !== "") yield* Check.text(`${field}.${name}`, value, format)
  }
  yield* Check.between(`${field}.activeDeadlineSeconds`, given.activeDeadlineSeconds, 1, 2 ** 31 - 1)
  for (const name of ["hostname", "subdomain"]) {
    const value = Json.text(given[name]) ?? ""
    if (value !== "") yield* Check.text(`${field}.${name}`, value, Format.dnsLabel)
  }
  yield* tolerations(`${field}.tolerations`, Json.objects(given.tolerations))
  const priorityClass = Json.text(given.priorityClassName) ?? ""
  if (priorityClass !== "") yield* Check.text(`${field}.priorityClassName`, priorityClass, Format.dnsSubdomain)
}

/** Yields the errors of a Pod's `spec`: the shared ones, and those that only Pods have. */
export function* ofPod(given: JsonObject): Errors {
  yield* spec("spec", given, true)
  yield* Check.notNegative("spec.terminationGracePeriodSeconds", given.terminationGracePeriodSeconds)
  for (const list of ["containers", "initContainers"]) {
    for (const [index, container] of Json.objects(given[list]).entries()) {
      const image = Json.text(container.image) ?? ""
      if (image.trim() !== image) {
        yield FieldError.invalid(`spec.${list}[${index}].image`, image, "must not have leading or trailing whitespace")
      }
    }
  }
}

/** Yields the errors of an update of a Pod's `spec`. Only a few fields are mutable. */
export function* change(spec: JsonObject, old: JsonObject): Errors {
  for (const list of ["containers", "initContainers"]) {
    if (Json.list(spec[list]).length === Json.list(old[list]).length) continue
    return yield FieldError.forbidden(`spec.${list}`, "pod updates may not add or remove containers")
  }
  const deadline = Json.number(spec.activeDeadlineSeconds)
  const oldDeadline = Json.number(old.activeDeadlineSeconds)
  if (oldDeadline !== undefined && deadline === undefined) {
    yield FieldError.invalid("spec.activeDeadlineSeconds", null, "must not update from a positive integer to nil value")
  } else if (oldDeadline !== undefined && deadline !== undefined && deadline > oldDeadline) {
    yield FieldError.invalid("spec.activeDeadlineSeconds", deadline, "must be less than or equal to previous value")
  }
  const kept = Json.list(old.tolerations)
  const given = Json.list(spec.tolerations)
  if (!kept.every((toleration) => given.some((one) => Json.equal(one, toleration)))) {
    yield FieldError.forbidden(
      "spec.tolerations",
      "existing toleration can not be modified except its tolerationSeconds"
    )
  }
  if (!Json.equal(frozen(spec), frozen(old))) {
    yield FieldError.forbidden(
      "spec",
      "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n"
    )
  }
}

/** The immutable part of a `spec`. */
const frozen = (spec: JsonObject): JsonObject => {
  const { activeDeadlineSeconds: _, schedulingGates: __, tolerations: ___, ...rest } = spec
  const withoutImages = (list: string) => Json.objects(spec[list]).map(({ image: ____, ...container }) => container)
  return { ...rest, containers: withoutImages("containers"), initContainers: withoutImages("initContainers") }
}

const names: ReadonlyArray<readonly [string, Format.Format]> = [
  ["serviceAccountName", Format.dnsSubdomain],
  ["nodeName", Format.dnsSubdomain]
]

function* hostNetworkPorts(field: string, spec: JsonObject, pod: boolean): Errors {
  for (const [container, { ports }] of Json.objects(spec.containers).entries()) {
    for (const [index, port] of Json.objects(ports).entries()) {
      const host = Json.number(port.hostPort) ?? 0
      if ((pod || host !== 0) && host !== port.containerPort) {
        yield FieldError.invalid(
          `${field}[${container}].ports[${index}].hostPort`,
          host,
          "must match `containerPort` when `hostNetwork` is true"
        )
      }
    }
  }
}

function* securityContext(field: string, context: JsonObject): Errors {
  yield* Check.between(`${field}.fsGroup`, context.fsGroup, 0, 2 ** 31 - 1)
  yield* Check.between(`${field}.runAsUser`, context.runAsUser, 0, 2 ** 31 - 1)
  yield* Check.between(`${field}.runAsGroup`, context.runAsGroup, 0, 2 ** 31 - 1)
  for (const [index, group] of Json.list(context.supplementalGroups).entries()) {
    yield* Check.between(`${field}.supplementalGroups[${index}]`, group, 0, 2 ** 31 - 1)
  }
}

/** Yields the errors of a list of tolerations. */
export function* tolerations(field: string, given: ReadonlyArray<JsonObject>): Errors {
  for (const [index, toleration] of given.entries()) {
    const at = `${field}[${index}]`
    const key = Json.text(toleration.key) ?? ""
    const operator = Json.text(toleration.operator) ?? ""
    const effect = Json.text(toleration.effect) ?? ""
    const value = Json.text(toleration.value) ?? ""
    if (key !== "") yield* Check.text(`${at}.key`, key, Format.labelKey)
    else if (operator !== "Exists") {
      yield FieldError.invalid(
        `${at}.operator`,
        operator,
        'operator must be Exists when `key` is empty, which means "match all values and all keys"'
      )
    }
    if (toleration.tolerationSeconds !== undefined && effect !== "NoExecute") {
      yield FieldError.invalid(`${at}.effect`, effect, "effect must be 'NoExecute' when `tolerationSeconds` is set")
    }
    if (operator === "Exists") {
      if (value !== "") {
        yield FieldError.invalid(`${at}.operator`, value, "value must be empty when `operator` is 'Exists'")
      }
    } else if (operator === "" || operator === "Equal") {
      const errors = Format.labelValue(value)
      if (errors.length > 0) yield FieldError.invalid(`${at}.operator`, value, errors.join(";"))
    } else yield FieldError.notSupported(`${at}.operator`, operator, ["Equal", "Exists"])
    if (effect !== "" && !effects.includes(effect)) yield FieldError.notSupported(`${at}.effect`, effect, effects)
  }
}

const effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"]
