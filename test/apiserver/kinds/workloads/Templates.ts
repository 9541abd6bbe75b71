/**
 * Validation that the workload kinds share: selectors, Pod templates, rolling updates and replica counts.
 */
import * as FieldError from "../../model/FieldError.ts"
import * as Format from "../../model/Format.ts"
import type { JsonObject, Json as JsonValue } from "../../model/Json.ts"
import * as Json from "../../model/Json.ts"
import * as Check from "../Check.ts"
import type { Errors } from "../Definition.ts"
import * as PodValidation from "../pods/PodValidation.ts"

/** Yields the errors of a required LabelSelector, which must not be empty. */
export function* selector(field: string, value: JsonValue | undefined, kind: string): Errors {
  if (!Json.isObject(value)) return yield FieldError.required(field)
  yield* Check.labelSelector(field, value)
  if (Check.isEmptySelector(value)) yield FieldError.invalid(field, value, `empty selector is invalid for ${kind}`)
}

/** Yields an error if the selector does not match the template's labels. A missing selector matches nothing. */
export function* selected(field: string, template: JsonObject, selector: JsonValue | undefined): Errors {
  const labels = Json.at(template, "metadata", "labels")
  if (Json.isObject(selector) && Check.selects(selector, Json.texts(labels))) return
  yield FieldError.invalid(
    `${field}.metadata.labels`,
    Check.sorted(labels),
    "`selector` does not match template `labels`"
  )
}

/** The update strategy as a kube-apiserver prints its internal Go type. */
export const shownUpdate = ({ rollingUpdate, type }: JsonObject): JsonObject => ({
  Type: type ?? "",
  RollingUpdate: Json.isObject(rollingUpdate)
    ? { MaxUnavailable: rollingUpdate.maxUnavailable ?? 0, MaxSurge: rollingUpdate.maxSurge ?? 0 }
    : null
})

/** Yields the errors of a template whose Pods must always restart and match the selector. Yields only one error for an invalid selector. */
export function* selectedAlways(spec: JsonObject, kind: string): Errors {
  const { selector } = spec
  if (!Check.isUnderstood(selector)) {
    return yield FieldError.invalid("spec.selector", selector, "invalid label selector")
  }
  const template = Json.object(spec.template)
  yield* selected("spec.template", template, selector)
  yield* always("spec.template", template, kind)
}

/** Yields the errors of a template whose Pods must always restart. */
export function* always(field: string, template: JsonObject, kind: string): Errors {
  yield* PodValidation.template(field, template)
  yield* forEver(field, template, kind)
}

/** Yields an error unless `restartPolicy` is `Always` and `activeDeadlineSeconds` is not set. */
export function* forEver(field: string, template: JsonObject, kind: string): Errors {
  const spec = Json.object(template.spec)
  if (spec.restartPolicy !== "Always") {
    yield FieldError.notSupported(`${field}.spec.restartPolicy`, spec.restartPolicy ?? "", ["Always"])
  }
  if (spec.activeDeadlineSeconds !== undefined) {
    yield FieldError.forbidden(
      `${field}.spec.activeDeadlineSeconds`,
      `activeDeadlineSeconds in ${kind} is not Supported`
    )
  }
}

/** Yields an error unless the value is a number of at least 0 or a percentage. */
export function* countOrShare(field: string, value: JsonValue | undefined): Errors {
  if (typeof value === "string") yield* Check.text(field, value, Format.percent)
  else yield* Check.notNegative(field, value)
}

/** Yields an error for a percentage above 100%. */
export function* atMostAll(field: string, value: JsonValue | undefined): Errors {
  if (typeof value === "string" && /^\d+%$/.test(value) && Number.parseInt(value, 10) > 100) {
    yield FieldError.invalid(field, value, "must not be greater than 100%")
  }
}

/** True for 0, `0%` and a missing value. */
export const isNone = (value: JsonValue | undefined): boolean =>
  typeof value === "string" ? Number.parseInt(value, 10) === 0 : (value ?? 0) === 0

/** Yields an error for each negative count of a status. `atMost` lists the counts that must not exceed another count. */
export function* counts(
  field: string,
  status: JsonObject,
  names: ReadonlyArray<string>,
  atMost: ReadonlyArray<readonly [name: string, other: string, limit: string]>
): Errors {
  for (const name of names) yield* Check.notNegative(`${field}.${name}`, status[name])
  for (const [name, other, limit] of atMost) {
    const count = Json.number(status[name]) ?? 0
    if (count > (Json.number(status[other]) ?? 0)) {
      yield FieldError.invalid(`${field}.${name}`, count, `cannot be greater than ${limit}`)
    }
  }
}
