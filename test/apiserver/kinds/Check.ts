/**
 * Validation functions that many kinds share. They yield errors in the order and wording of a kube-apiserver.
 */
import * as FieldError from "../model/FieldError.ts"
import * as Format from "../model/Format.ts"
import type { JsonObject, Json as JsonValue } from "../model/Json.ts"
import * as Json from "../model/Json.ts"
import * as Quantity from "../model/Quantity.ts"
import type { Errors } from "./Definition.ts"

/** Yields an error for each violation of the format. */
export function* text(field: string, value: string, format: Format.Format): Errors {
  for (const wrong of format(value)) yield FieldError.invalid(field, value, wrong)
}

/** Yields an error if the string is missing or empty, or violates the optional format. */
export function* requiredText(field: string, value: JsonValue | undefined, format?: Format.Format): Errors {
  const given = Json.text(value) ?? ""
  if (given === "") yield FieldError.required(field)
  else if (format !== undefined) yield* text(field, given, format)
}

/** Yields an error if the string is missing, empty or not one of `words`. */
export function* word(field: string, value: JsonValue | undefined, words: ReadonlyArray<string>): Errors {
  const given = Json.text(value) ?? ""
  if (given === "") yield FieldError.required(field)
  else if (!words.includes(given)) yield FieldError.notSupported(field, given, words)
}

/** Yields an error for a negative number. A missing number is valid. */
export function* notNegative(field: string, value: JsonValue | undefined): Errors {
  const given = Json.number(value)
  if (given !== undefined && given < 0) yield FieldError.invalid(field, given, "must be greater than or equal to 0")
}

/** Yields an error for a number outside of `least` to `most`, both inclusive. A missing number is valid. */
export function* between(field: string, value: JsonValue | undefined, least: number, most: number): Errors {
  const given = Json.number(value)
  if (given === undefined) return
  for (const wrong of Format.range(given, least, most)) yield FieldError.invalid(field, given, wrong)
}

/** Yields an error for a negative quantity. A missing quantity is valid. */
export function* quantity(field: string, value: JsonValue | undefined): Errors {
  const given = Json.text(value)
  if (given !== undefined && Quantity.amount(given) < 0n) {
    yield FieldError.invalid(field, given, "must be greater than or equal to 0")
  }
}

/** Yields an error if an immutable field changes. */
export function* immutable(
  field: string,
  value: JsonValue | undefined,
  old: JsonValue | undefined,
  detail = "field is immutable"
): Errors {
  if (!Json.equal(value, old)) yield FieldError.invalid(field, value, detail)
}

/** Yields an error if `spec.selector` changes. */
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

/** Yields the errors of the keys and values of labels. */
export function* labels(field: string, value: JsonValue | undefined): Errors {
  const given = Json.object(value)
  for (const key in given) {
    for (const wrong of Format.labelKey(key)) yield FieldError.invalid(field, key, wrong)
    for (const wrong of Format.labelValue(Json.text(given[key]) ?? "")) {
      yield FieldError.invalid(field, given[key], wrong)
    }
  }
}

/** Yields the errors of the keys of annotations, and an error if keys and values exceed 256 KiB in total. */
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

/** Yields the errors of a LabelSelector. A missing selector is valid. */
export function* labelSelector(field: string, value: JsonValue | undefined): Errors {
  if (!Json.isObject(value)) return
  yield* labels(`${field}.matchLabels`, value.matchLabels)
  for (const [index, expression] of Json.objects(value.matchExpressions).entries()) {
    yield* requirement(`${field}.matchExpressions[${index}]`, expression)
  }
}

/** The object with sorted keys, as Go prints a map. Returns null if the value is not an object. */
export const sorted = (value: JsonValue | undefined): JsonValue =>
  Json.isObject(value)
    ? Object.fromEntries(Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1)))
    : null

/** True if a LabelSelector is valid. */
export const isUnderstood = (value: JsonValue | undefined): boolean => [...labelSelector("", value)].length === 0

/** True if a LabelSelector is empty, and so selects everything. */
export const isEmptySelector = (value: JsonValue | undefined): boolean => {
  const selector = Json.object(value)
  return (
    Object.keys(Json.object(selector.matchLabels)).length === 0 && Json.list(selector.matchExpressions).length === 0
  )
}

/** True if a LabelSelector matches the labels. */
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
