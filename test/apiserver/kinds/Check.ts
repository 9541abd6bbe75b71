/**
 * The checks that many kinds make of their fields. Each yields the errors it finds, in the order and words of a
 * kube-apiserver.
 */
import * as FieldError from "../model/FieldError.ts"
import * as Format from "../model/Format.ts"
import type { JsonObject, Json as JsonValue } from "../model/Json.ts"
import * as Json from "../model/Json.ts"
import * as Quantity from "../model/Quantity.ts"
import type { Errors } from "./Definition.ts"

/** A text in a form. */
export function* text(field: string, value: string, format: Format.Format): Errors {
  for (const wrong of format(value)) yield FieldError.invalid(field, value, wrong)
}

/** A text that has to be there, in a form. */
export function* requiredText(field: string, value: JsonValue | undefined, format?: Format.Format): Errors {
  const given = Json.text(value) ?? ""
  if (given === "") yield FieldError.required(field)
  else if (format !== undefined) yield* text(field, given, format)
}

/** A word out of a list; `required` if it is missing. */
export function* word(field: string, value: JsonValue | undefined, words: ReadonlyArray<string>): Errors {
  const given = Json.text(value) ?? ""
  if (given === "") yield FieldError.required(field)
  else if (!words.includes(given)) yield FieldError.notSupported(field, given, words)
}

/** A number that is not below zero, if it is there. */
export function* notNegative(field: string, value: JsonValue | undefined): Errors {
  const given = Json.number(value)
  if (given !== undefined && given < 0) yield FieldError.invalid(field, given, "must be greater than or equal to 0")
}

/** A number between two, if it is there. */
export function* between(field: string, value: JsonValue | undefined, least: number, most: number): Errors {
  const given = Json.number(value)
  if (given === undefined) return
  for (const wrong of Format.range(given, least, most)) yield FieldError.invalid(field, given, wrong)
}

/** An amount that is not below zero. */
export function* quantity(field: string, value: JsonValue | undefined): Errors {
  const given = Json.text(value)
  if (given !== undefined && Quantity.amount(given) < 0n) {
    yield FieldError.invalid(field, given, "must be greater than or equal to 0")
  }
}

/** A field that stays as it was. */
export function* immutable(
  field: string,
  value: JsonValue | undefined,
  old: JsonValue | undefined,
  detail = "field is immutable"
): Errors {
  if (!Json.equal(value, old)) yield FieldError.invalid(field, value, detail)
}

/** A LabelSelector that stays as it was. */
export function* immutableSelector(object: JsonObject, old: JsonObject): Errors {
  const selector = Json.at(object, "spec", "selector")
  if (Json.equal(selector, Json.at(old, "spec", "selector"))) return
  const given = Json.object(selector)
  const labels = given.matchLabels === undefined ? {} : { matchLabels: sorted(given.matchLabels) }
  yield FieldError.invalid(
    "spec.selector",
    Json.isObject(selector) ? { ...given, ...labels } : null,
    "field is immutable"
  )
}

/** Labels. */
export function* labels(field: string, value: JsonValue | undefined): Errors {
  const given = Json.object(value)
  for (const key in given) {
    for (const wrong of Format.labelKey(key)) yield FieldError.invalid(field, key, wrong)
    for (const wrong of Format.labelValue(Json.text(given[key]) ?? "")) {
      yield FieldError.invalid(field, given[key], wrong)
    }
  }
}

/** Annotations: their keys, and that they are not too long altogether. */
export function* annotations(field: string, value: JsonValue | undefined): Errors {
  const given = Json.texts(value)
  let size = 0
  for (const key in given) {
    size += Buffer.byteLength(key) + Buffer.byteLength(given[key] ?? "")
    for (const wrong of Format.labelKey(key.toLowerCase())) yield FieldError.invalid(field, key, wrong)
  }
  if (size > 256 * 1024) {
    yield FieldError.make("FieldValueTooLong", field, undefined, `may not be more than ${256 * 1024} bytes`)
  }
}

/** A LabelSelector. */
export function* labelSelector(field: string, value: JsonValue | undefined): Errors {
  if (!Json.isObject(value)) return
  yield* labels(`${field}.matchLabels`, value.matchLabels)
  for (const [index, expression] of Json.objects(value.matchExpressions).entries()) {
    yield* requirement(`${field}.matchExpressions[${index}]`, expression)
  }
}

/** The members in the order in which Go prints those of a map. */
export const sorted = (value: JsonValue | undefined): JsonValue =>
  Json.isObject(value)
    ? Object.fromEntries(Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1)))
    : null

/** Whether all requirements of a LabelSelector can be understood. */
export const isUnderstood = (value: JsonValue | undefined): boolean => [...labelSelector("", value)].length === 0

/** Whether a LabelSelector selects everything. */
export const isEmptySelector = (value: JsonValue | undefined): boolean => {
  const selector = Json.object(value)
  return (
    Object.keys(Json.object(selector.matchLabels)).length === 0 && Json.list(selector.matchExpressions).length === 0
  )
}

/** Whether a LabelSelector selects these labels. */
export const selects = (value: JsonValue | undefined, labels: { readonly [name: string]: string }): boolean => {
  const selector = Json.object(value)
  const matchLabels = Json.texts(selector.matchLabels)
  for (const key in matchLabels) if (labels[key] !== matchLabels[key]) return false
  return Json.objects(selector.matchExpressions).every((expression) => holds(expression, labels))
}

const holds = (expression: JsonObject, labels: { readonly [name: string]: string }): boolean => {
  const value = labels[Json.text(expression.key) ?? ""]
  const listed = value !== undefined && Json.list(expression.values).includes(value)
  switch (expression.operator) {
    case "In":
      return listed
    case "NotIn":
      return !listed
    case "Exists":
      return value !== undefined
    default:
      return value === undefined
  }
}

function* requirement(field: string, expression: JsonObject): Errors {
  const values = Json.list(expression.values)
  switch (expression.operator) {
    case "In":
    case "NotIn":
      if (values.length === 0) {
        yield FieldError.required(`${field}.values`, "must be specified when `operator` is 'In' or 'NotIn'")
      }
      break
    case "Exists":
    case "DoesNotExist":
      if (values.length > 0) {
        yield FieldError.forbidden(
          `${field}.values`,
          "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        )
      }
      break
    default:
      yield FieldError.invalid(`${field}.operator`, expression.operator ?? "", "not a valid selector operator")
  }
  yield* text(`${field}.key`, Json.text(expression.key) ?? "", Format.labelKey)
  for (const [index, value] of values.entries()) {
    yield* text(`${field}.values[${index}]`, Json.text(value) ?? "", Format.labelValue)
  }
}
