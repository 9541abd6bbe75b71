/**
 * Validates a value against its schema, with the messages of kube-openapi. The validator tries each schema of `allOf`, `anyOf`,
 * `oneOf` and `not` separately. If no alternative of `anyOf` or `oneOf` is valid, it reports the errors of the best one.
 */
import * as FieldError from "../../model/FieldError.ts"
import * as Json from "../../model/Json.ts"
import type { Schema } from "../../model/Schema.ts"
import type { Correlation } from "./Correlation.ts"
import * as OpenApiFormats from "./OpenApiFormats.ts"
import * as RegularExpression from "./RegularExpression.ts"
import { sorted } from "./Sorted.ts"
import * as StructuralSchema from "./StructuralSchema.ts"

/**
 * Returns the errors of a value. With `before`, it leaves out the errors of unchanged values (ratcheting). `within` is the path of
 * the value in the errors.
 */
export const validate = (
  schema: Schema,
  value: Json.Json,
  options: { readonly within?: string | undefined; readonly before?: Correlation | undefined } = {}
): ReadonlyArray<FieldError.FieldError> => {
  const whole = new Result()
  check(schema, value, "", whole, undefined)
  // Most values are valid. Only an invalid value needs the comparison with its old value.
  if (whole.faults.length === 0) return []
  const result = options.before === undefined ? whole : new Result()
  if (options.before !== undefined) checkRatcheting(schema, value, "", result, options.before)
  const reported = new Set<string>()
  return result.faults
    .filter(({ text }) => !reported.has(text) && reported.add(text))
    .map((fault) => fieldError(fault, options.within))
}

/** An error. `at` is the path of its field; undefined: the error names no field. */
interface Fault {
  readonly reason: FieldError.Reason
  readonly at: string | undefined
  /** The whole message of kube-openapi. The validator reports errors with the same message once. */
  readonly text: string
  readonly value: Json.Json
  readonly detail: string
}

/** The errors of a value, and how many checks passed. The best alternative is the one with the most passed checks. */
class Result {
  readonly faults: Array<Fault> = []
  matches = 0

  add(reason: FieldError.Reason, at: string | undefined, text: string, value: Json.Json = "", detail = text): void {
    this.faults.push({ reason, at, text, value, detail })
  }

  merge({ faults, matches }: Result): void {
    this.faults.push(...faults)
    this.matches += matches
  }
}

const fieldError = ({ at, detail, reason, value }: Fault, within: string | undefined): FieldError.FieldError => {
  const name = at?.replace(/^\./, "") ?? ""
  const field = name === "" ? within : within === undefined ? name : `${within}.${name}`
  return FieldError.make(reason, field, sorted(value), detail)
}

/** Adds the errors of a value to the result. `before` correlates the value with its old value, if an old value is known. */
type Check<Value> = (
  schema: Schema,
  value: Value,
  path: string,
  result: Result,
  before: Correlation | undefined
) => void

const checkRatcheting: Check<Json.Json> = (schema, value, path, result, before) => {
  if (before === undefined) {
    check(schema, value, path, result, undefined)
    return
  }
  const own = new Result()
  check(schema, value, path, own, before)
  if (own.faults.length > 0 && before.same) own.faults.length = 0
  result.merge(own)
}

const check: Check<Json.Json> = (schema, value, path, result, before) => {
  const type = typesOf(schema)
  if (value === null) {
    if (type !== "" && schema.nullable !== true) {
      result.add("FieldValueTypeInvalid", path, `${path} in body must be of type ${type}: "null"`, "null")
    }
    if (schema.enum !== undefined) checkEnum(schema.enum, value, path, result)
    return
  }
  if (type !== "" || formatOf(schema) !== undefined) {
    checkType(schema, type, value, path, result)
    result.matches++
  }
  if (hasJunctions(schema)) checkJunctions(schema, value, path, result, before)
  result.matches += 2
  if (typeof value === "string") checkString(schema, value, path, result)
  else if (typeof value === "number") checkNumber(schema, value, path, result)
  else if (Json.isList(value)) checkList(schema, value, path, result, before)
  if (schema.enum !== undefined) checkEnum(schema.enum, value, path, result)
  result.matches++
  if (Json.isObject(value)) checkObject(schema, value, path, result, before)
  result.matches++
}

const typesOf = (schema: Schema): string =>
  schema["x-kubernetes-int-or-string"] === true ? "integer,string" : (schema.type ?? "")

/** Returns the format of a schema; undefined: the validator does not know the format for this type. */
const formatOf = ({ format, type }: Schema): string | undefined =>
  format !== undefined && OpenApiFormats.isKnown(type, format) ? format : undefined

const checkType = (schema: Schema, type: string, value: Json.Json, path: string, result: Result): void => {
  const [is, goFormat] = typeOf(value)
  const format = formatOf(schema)
  const fits = type.includes(is) || (is === "integer" && type === "number")
  const scalarOrMap = is !== "string" && is !== "array"
  const wrong = (wanted: string, found: string) => {
    result.add("FieldValueTypeInvalid", path, `${path} in body must be of type ${wanted}: "${found}"`, found)
  }
  if (scalarOrMap && format !== undefined && !fits && format !== goFormat) wrong(format, goFormat)
  else if (!scalarOrMap && format !== undefined && type !== "number" && !type.startsWith("integer")) result.matches++
  else if (!fits) wrong(type, is)
  else result.matches++
}

/** Returns the type of a value, and the format of its Go type. */
const typeOf = (value: Json.Json): readonly [type: string, format: string] => {
  if (Json.isList(value)) return ["array", ""]
  if (typeof value === "number") return Number.isInteger(value) ? ["integer", "int64"] : ["number", "float64"]
  if (typeof value === "object") return ["object", ""]
  return [typeof value, ""]
}

const checkEnum = (allowed: ReadonlyArray<Json.Json>, value: Json.Json, path: string, result: Result): void => {
  if (allowed.some((one) => Json.equal(one, value))) return
  const words = allowed.map((one) => JSON.stringify(typeof one === "string" ? one : JSON.stringify(one)))
  const text = `${path} in body should be one of ${JSON.stringify(allowed)}`
  result.add("FieldValueNotSupported", path, text, value, `supported values: ${words.join(", ")}`)
}

const checkString = (schema: Schema, value: string, path: string, result: Result): void => {
  const { maxLength, minLength, pattern } = schema
  const at = `${path} in body should`
  result.matches++
  if (maxLength !== undefined && longer(value, maxLength)) {
    result.add(
      "FieldValueTooLong",
      path,
      `${at} be at most ${maxLength} chars long`,
      "",
      `may not be more than ${maxLength} bytes`
    )
  } else if (minLength !== undefined && !longer(value, minLength - 1)) {
    result.add("FieldValueInvalid", path, `${at} be at least ${minLength} chars long`, value)
  } else if (pattern !== undefined && !RegularExpression.matches(pattern, value)) {
    result.add("FieldValueInvalid", path, `${at} match '${pattern}'`, value)
  }
  const format = formatOf(schema)
  if (format === undefined || OpenApiFormats.has(format, value) === undefined) return
  result.matches++
  if (OpenApiFormats.has(format, value) === false) {
    result.add(
      "FieldValueTypeInvalid",
      path,
      `${path} in body must be of type ${format}: ${JSON.stringify(value)}`,
      value
    )
  }
}

/** Whether a text has more than `limit` characters. */
const longer = (value: string, limit: number): boolean => value.length > limit && [...value].length > limit

const checkNumber = (schema: Schema, value: number, path: string, result: Result): void => {
  const at = `${path} in body should be`
  const ranged = (number: number, what: string): boolean => {
    if (inRange(schema, number)) return true
    const format = formatOf(schema)
    const wanted = format === undefined ? "(default format)" : `with format ${format}`
    result.add("FieldValueInvalid", undefined, `${what} must be of type integer ${wanted} in ${path}`)
    return false
  }
  // For an integer, Go truncates a bound that is within the range of the type.
  const bound = (limit: number, what: string) =>
    ranged(limit, what) && Number.isInteger(value) ? Math.trunc(limit) : limit
  result.matches += 2
  ranged(value, "Checked value")
  if (schema.multipleOf !== undefined) {
    const factor = bound(schema.multipleOf, "MultipleOf value")
    const multiple = factor < 1 ? (1 / factor) * value : value / factor
    if (factor <= 0) {
      const text = `factor MultipleOf declared for ${path} must be positive: ${factor}`
      result.add("FieldValueInvalid", path, text, factor)
    } else if (!Number.isInteger(multiple)) {
      result.add("FieldValueInvalid", path, `${at} a multiple of ${factor}`, value)
    }
  }
  if (schema.minimum !== undefined) {
    const minimum = bound(schema.minimum, "Minimum boundary value")
    if (schema.exclusiveMinimum === true ? value <= minimum : value < minimum) {
      const relation = schema.exclusiveMinimum === true ? "greater than" : "greater than or equal to"
      result.add("FieldValueInvalid", path, `${at} ${relation} ${minimum}`, value)
    }
  }
  if (schema.maximum !== undefined) {
    const maximum = bound(schema.maximum, "Maximum boundary value")
    if (schema.exclusiveMaximum === true ? value >= maximum : value > maximum) {
      const relation = schema.exclusiveMaximum === true ? "less than" : "less than or equal to"
      result.add("FieldValueInvalid", path, `${at} ${relation} ${maximum}`, value)
    }
  }
}

/** Whether a number fits a schema of type integer: 32 bits for the format int32, else 64 bits. True for other types. */
const inRange = ({ format, type }: Schema, number: number): boolean =>
  type !== "integer" || (Number.isInteger(number) && Math.abs(number) <= 2 ** (format === "int32" ? 31 : 63))

const checkList: Check<ReadonlyArray<Json.Json>> = (schema, value, path, result, before) => {
  const { items, maxItems, minItems } = schema
  if (items !== undefined) {
    value.forEach((item, index) => {
      checkRatcheting(items, item, `${path}[${index}]`, result, before?.index(index))
    })
  }
  const size = value.length
  if (minItems !== undefined && size < minItems) {
    result.add("FieldValueInvalid", path, `${path} in body should have at least ${minItems} items`, size)
  }
  if (maxItems !== undefined && size > maxItems) {
    const text = `${path} in body should have at most ${maxItems} items`
    result.add("FieldValueTooMany", path, text, size, `must have at most ${maxItems} items`)
  }
  result.matches += 2
}

const checkObject: Check<Json.JsonObject> = (schema, value, path, result, before) => {
  const { maxProperties, minProperties } = schema
  if (minProperties !== undefined || maxProperties !== undefined) {
    const size = Object.keys(value).length
    if (minProperties !== undefined && size < minProperties) {
      result.add("FieldValueInvalid", path, `${path} in body should have at least ${minProperties} properties`, size)
    }
    if (maxProperties !== undefined && size > maxProperties) {
      const text = `${path} in body should have at most ${maxProperties} properties`
      result.add("FieldValueTooMany", path, text, size, `must have at most ${maxProperties} items`)
    }
  }
  checkMembers(schema, value, path, result, before)
  for (const name of schema.required ?? []) {
    if (Json.at(value, name) === undefined) {
      result.add("FieldValueRequired", `${path}.${name}`, `${path}.${name} in body is required`, "", "")
    }
  }
}

const checkMembers: Check<Json.JsonObject> = (schema, value, path, result, before) => {
  const values = StructuralSchema.valuesOf(schema)
  for (const name in value) {
    const member = value[name]
    if (member === undefined) continue
    const known = StructuralSchema.propertyOf(schema, name)
    if (known !== undefined) {
      // Both objects were converted to one version, so a change of apiVersion or kind cannot be detected.
      const own = path === "" && (name === "apiVersion" || name === "kind") ? undefined : before?.key(name)
      checkRatcheting(known, member, path === "" ? name : `${path}.${name}`, result, own)
    } else if (values !== undefined) checkRatcheting(values, member, `${path}.${name}`, result, before?.key(name))
    else if (schema.additionalProperties === false) {
      result.add("FieldValueInvalid", path, `${path}.${name} in body is a forbidden property`, name)
    }
  }
}

const hasJunctions = ({ allOf, anyOf, not, oneOf }: Schema): boolean =>
  allOf !== undefined || anyOf !== undefined || oneOf !== undefined || not !== undefined

const checkJunctions: Check<Json.Json> = (schema, value, path, result, before) => {
  const attempt = (alternative: Schema): Result => {
    const tried = new Result()
    check(alternative, value, path, tried, before)
    return tried
  }
  const quoted = JSON.stringify(path)
  if (schema.anyOf !== undefined && schema.anyOf.length > 0) checkAnyOf(schema.anyOf.map(attempt), quoted, result)
  if (schema.oneOf !== undefined && schema.oneOf.length > 0) checkOneOf(schema.oneOf.map(attempt), quoted, result)
  if (schema.allOf !== undefined && schema.allOf.length > 0) checkAllOf(schema.allOf.map(attempt), quoted, result)
  if (schema.not !== undefined && isValid(attempt(schema.not))) {
    result.add("FieldValueInvalid", undefined, `${quoted} must not validate the schema (not)`)
  }
}

const isValid = ({ faults }: Result): boolean => faults.length === 0

/** Returns the alternative that passed most checks, or the first of several equally good ones. */
const best = (tried: ReadonlyArray<Result>): Result | undefined =>
  tried.reduce<Result | undefined>(
    (one, other) => (one === undefined || other.matches > one.matches ? other : one),
    undefined
  )

const checkAnyOf = (tried: ReadonlyArray<Result>, quoted: string, result: Result): void => {
  const valid = tried.find(isValid)
  if (valid === undefined) {
    result.add("FieldValueInvalid", undefined, `${quoted} must validate at least one schema (anyOf)`)
  }
  result.merge(valid ?? best(tried) ?? new Result())
}

const checkOneOf = (tried: ReadonlyArray<Result>, quoted: string, result: Result): void => {
  const valid = tried.filter(isValid)
  const [only] = valid
  if (valid.length === 1 && only !== undefined) {
    result.merge(only)
    return
  }
  const found = valid.length === 0 ? "Found none valid" : `Found ${valid.length} valid alternatives`
  result.add("FieldValueInvalid", undefined, `${quoted} must validate one and only one schema (oneOf). ${found}`)
  if (valid.length === 0) result.merge(best(tried) ?? new Result())
}

const checkAllOf = (tried: ReadonlyArray<Result>, quoted: string, result: Result): void => {
  for (const one of tried) result.merge(one)
  const valid = tried.filter(isValid).length
  if (valid === tried.length) return
  const none = valid === 0 ? ". None validated" : ""
  result.add("FieldValueInvalid", undefined, `${quoted} must validate all the schemas (allOf)${none}`)
}
