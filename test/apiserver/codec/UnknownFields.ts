/**
 * Prunes an object of a built-in kind as decoding does. Unknown fields are removed, and a value of a wrong type is rejected
 * with the message of Go's decoder.
 *
 * Go distinguishes `1.0` from an integer. JavaScript does not, so `1.0` is an integer here.
 */

import * as Failure from "../model/Failure.ts"
import * as GoBase64 from "../model/GoBase64.ts"
import * as GoTime from "../model/GoTime.ts"
import * as GoType from "../model/GoType.ts"
import type { Draft, DraftObject, Json, JsonObject } from "../model/Json.ts"
import * as J from "../model/Json.ts"
import { fieldError, memberPath, mostErrors } from "../model/JsonText.ts"
import * as Quantity from "../model/Quantity.ts"
import type { Schema } from "../model/Schema.ts"

/** A pruned copy of an object, and the errors of strict decoding. */
export interface Pruned {
  readonly value: DraftObject
  /** The errors in the order of the fields: `unknown field "spec.foo"`, and `duplicate field "spec.a"` for known fields. */
  readonly errors: ReadonlyArray<string>
}

/** The options of pruning. */
export interface Options {
  /** The errors of parsing the text of the object: `duplicate field "spec.a"`. */
  readonly duplicates?: ReadonlyArray<string>
  /** The decoder whose messages reject a wrong type: that of texts, or that of the values of a strategic merge patch. */
  readonly decoder?: "text" | "values"
}

/** Prunes an object. Throws a Failure (400) if a value has a wrong type. */
export const prune = (
  schema: Schema,
  value: JsonObject,
  { decoder = "text", duplicates = [] }: Options = {}
): Pruned => {
  const strict: Strict = { duplicates: new Set(duplicates), errors: [], decoder }
  const pruned = object(schema, value, root, strict)
  return { value: pruned, errors: [...new Set(strict.errors)].slice(0, mostErrors) }
}

/** Reports whether an object has an unknown field, without a copy of the object. It does not check the types of values. */
export const has = (schema: Schema, value: Json): boolean => {
  if (J.isList(value)) return value.some((item) => has(schema.items ?? {}, item))
  if (!J.isObject(value)) return false
  if (schema.properties === undefined && typeof schema.additionalProperties !== "object") return false
  for (const name of Object.keys(value)) {
    const known = fieldOf(schema, name)
    const member = value[name]
    if (member !== undefined && (known === undefined || has(known, member))) return true
  }
  return false
}

interface Strict {
  readonly duplicates: ReadonlySet<string>
  readonly errors: Array<string>
  readonly decoder: "text" | "values"
}

/** The position of a value: a member or an item. Only errors need its texts. */
interface Position {
  readonly parent: Position | undefined
  /** The schema of the object with this member. */
  readonly schema: Schema
  readonly member: string | number
}

const root = undefined

/** Returns the path for strict decoding: `spec.containers[0].image`. */
const pathOf = (position: Position | undefined): string => {
  if (position === undefined) return ""
  const { member, parent } = position
  return typeof member === "number" ? `${pathOf(parent)}[${member}]` : memberPath(pathOf(parent), member)
}

interface GoField {
  /** The Go struct that has the field, and the path of the field in Go's messages. Both are empty at the root. */
  readonly struct: string
  readonly field: string
}

const goFieldOf = (position: Position | undefined): GoField => {
  if (position === undefined) return { struct: "", field: "" }
  const { member, parent, schema } = position
  const outer = goFieldOf(parent)
  if (typeof member === "number" || schema.properties === undefined) return outer
  const struct = GoType.nameOf(schema)
  return { struct, field: memberPath(outer.field, GoType.fieldPath(struct, member)) }
}

const object = (schema: Schema, value: JsonObject, parent: Position | undefined, strict: Strict): DraftObject => {
  const pruned: DraftObject = {}
  for (const name of Object.keys(value)) {
    const member = value[name]
    if (member === undefined) continue
    const position = { parent, schema, member: name }
    const known = fieldOf(schema, name)
    if (known === undefined) {
      strict.errors.push(fieldError("unknown", pathOf(position)))
      continue
    }
    if (strict.duplicates.size > 0) {
      const duplicate = fieldError("duplicate", pathOf(position))
      if (strict.duplicates.has(duplicate)) strict.errors.push(duplicate)
    }
    J.put(pruned, name, decoded(known, member, position, strict))
  }
  return pruned
}

const fieldOf = (schema: Schema, name: string): Schema | undefined => {
  if (schema.properties !== undefined && Object.hasOwn(schema.properties, name)) return schema.properties[name]
  return typeof schema.additionalProperties === "object" ? schema.additionalProperties : undefined
}

const decoded = (schema: Schema, value: Json, position: Position, strict: Strict): Draft => {
  if (value === null) return null
  const wrong = () =>
    Failure.badRequest(strict.decoder === "text" ? ofText(value, schema, position) : ofValue(value, schema))
  const special = GoType.specialOf(schema)
  if (special !== undefined) return specially(special, value, strict.decoder === "text" ? position : root)
  switch (schema.type) {
    case "array":
      if (!J.isList(value)) throw wrong()
      return value.map((item, index) =>
        decoded(schema.items ?? {}, item, { parent: position, schema, member: index }, strict)
      )
    case "object":
      if (schema.properties === undefined && typeof schema.additionalProperties !== "object") return J.copy(value)
      if (!J.isObject(value)) throw wrong()
      return object(schema, value, position, strict)
    case "string":
      if (typeof value !== "string") throw wrong()
      return schema.format === "byte" ? checked(value, base64Error(value, strict)) : value
    case "boolean":
    case "number":
      if (typeof value !== schema.type) throw wrong()
      return J.copy(value)
    case "integer":
      if (typeof value === "number" && isInteger(value, schema.format)) return value
      if (strict.decoder === "values" && Number.isInteger(value)) return truncated(value)
      throw wrong()
    default:
      return J.copy(value)
  }
}

/** The decoder of values truncates an integer to 32 bits, as Go's conversions do. */
const truncated = (value: Json): number => Number(BigInt.asIntN(32, BigInt(Number(value))))

const base64Error = (value: string, { decoder }: Strict): string | undefined => {
  const error = GoBase64.parseError(value)
  return error === undefined || decoder === "text" ? error : `error decoding from json: ${error}`
}

const specially = (special: GoType.Special, value: Json, position: Position | undefined): Draft => {
  switch (special) {
    case "Quantity": {
      if (typeof value !== "string" && typeof value !== "number") throw Failure.badRequest(Quantity.wrongFormat)
      const parsed = Quantity.parse(String(value).trim())
      if (typeof parsed === "string") throw Failure.badRequest(parsed)
      return value
    }
    case "IntOrString":
      if (typeof value === "string" || (typeof value === "number" && isInteger(value, "int32"))) return value
      throw Failure.badRequest(ofText(value, int32, position))
    default:
      if (typeof value !== "string") throw Failure.badRequest(ofText(value, text, position))
      return checked(value, GoTime.parseError(value, special === "Time" ? GoTime.seconds : GoTime.microseconds))
  }
}

const checked = (value: string, error: string | undefined): string => {
  if (error === undefined) return value
  throw Failure.badRequest(error)
}

const int32: Schema = { type: "integer", format: "int32" }
const text: Schema = { type: "string" }

const isInteger = (value: number, format: string | undefined): boolean =>
  Number.isInteger(value) && value >= -(2 ** bits(format)) && value < 2 ** bits(format)

const bits = (format: string | undefined): number => (format === "int32" ? 31 : 63)

/** Returns the message of the decoder of texts for a value of a wrong type. */
const ofText = (value: Json, schema: Schema, position: Position | undefined): string => {
  const { field, struct } = goFieldOf(position)
  const found = typeof value === "number" && schema.type === "integer" ? `number ${value}` : typeOf(value)
  const target = field === "" ? "value" : `struct field ${struct}.${field}`
  return `json: cannot unmarshal ${found} into Go ${target} of type ${GoType.written(schema)}`
}

const typeOf = (value: Json): string => (J.isList(value) ? "array" : typeof value === "boolean" ? "bool" : typeof value)

/** Returns the message of the decoder of values. It differs for values that cannot be converted and types without any conversion. */
const ofValue = (value: Json, schema: Schema): string => {
  const found = goTypeOf(value)
  if (schema.type === "array") return `cannot restore slice from ${found}`
  if (schema.type === "object")
    return schema.properties === undefined ? `cannot restore map from ${found}` : `cannot restore struct from: ${found}`
  const target = GoType.written(schema)
  if (target === "[]uint8") return `cannot restore slice from ${found}`
  const convertible = (found === "int64" && target !== "bool") || (found === "float64" && /^(?:int|float)/.test(target))
  return convertible ? `cannot convert ${found} to ${target}` : `unrecognized type: ${target}`
}

const goTypeOf = (value: Json): string => {
  if (J.isList(value)) return "slice"
  if (J.isObject(value)) return "map"
  if (typeof value === "number") return Number.isInteger(value) ? "int64" : "float64"
  return typeof value === "boolean" ? "bool" : "string"
}
