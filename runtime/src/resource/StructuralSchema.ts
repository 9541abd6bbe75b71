/**
 * Structural schemas: the part of OpenAPI v3 that a CRD supports, in its JSON form. `SchemaCompiler` creates them from Effect
 * Schemas. This module defines them and adds facts to them.
 */
import * as Result from "effect/Result"
import type { Rule } from "./Field.ts"
import * as Pattern from "./Pattern.ts"

/** A JSON value. */
export type Json =
  | string
  | number
  | boolean
  | null
  | ReadonlyArray<Json>
  | {
      readonly [name: string]: Json
    }

/** A structural schema. It has a `type` unless it is int-or-string or keeps unknown fields. */
export interface StructuralSchema {
  readonly description?: string
  readonly type?: "string" | "integer" | "number" | "boolean" | "object" | "array"
  readonly format?: string
  readonly nullable?: boolean
  readonly default?: Json
  readonly enum?: ReadonlyArray<Json>
  readonly minimum?: number
  /** With `minimum`: the bound is exclusive. (A flag, unlike in JSON Schema.) */
  readonly exclusiveMinimum?: boolean
  readonly maximum?: number
  readonly exclusiveMaximum?: boolean
  readonly multipleOf?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
  readonly minItems?: number
  readonly maxItems?: number
  readonly items?: StructuralSchema
  readonly minProperties?: number
  readonly maxProperties?: number
  readonly properties?: { readonly [name: string]: StructuralSchema }
  readonly required?: ReadonlyArray<string>
  readonly additionalProperties?: StructuralSchema
  readonly allOf?: ReadonlyArray<StructuralSchema>
  readonly anyOf?: ReadonlyArray<StructuralSchema>
  readonly oneOf?: ReadonlyArray<StructuralSchema>
  readonly not?: StructuralSchema
  readonly "x-kubernetes-int-or-string"?: boolean
  readonly "x-kubernetes-preserve-unknown-fields"?: boolean
  readonly "x-kubernetes-embedded-resource"?: boolean
  readonly "x-kubernetes-list-type"?: "atomic" | "set" | "map"
  readonly "x-kubernetes-list-map-keys"?: ReadonlyArray<string>
  readonly "x-kubernetes-map-type"?: "atomic" | "granular"
  readonly "x-kubernetes-validations"?: ReadonlyArray<Rule>
}

// The order of keys in a schema, so that a CRD always has the same text.
const order: ReadonlyArray<keyof StructuralSchema> = [
  "description",
  "type",
  "format",
  "nullable",
  "default",
  "enum",
  "minimum",
  "exclusiveMinimum",
  "maximum",
  "exclusiveMaximum",
  "multipleOf",
  "minLength",
  "maxLength",
  "pattern",
  "minItems",
  "maxItems",
  "items",
  "minProperties",
  "maxProperties",
  "properties",
  "required",
  "additionalProperties",
  "allOf",
  "anyOf",
  "oneOf",
  "not",
  "x-kubernetes-int-or-string",
  "x-kubernetes-preserve-unknown-fields",
  "x-kubernetes-embedded-resource",
  "x-kubernetes-list-type",
  "x-kubernetes-list-map-keys",
  "x-kubernetes-map-type",
  "x-kubernetes-validations"
]

const known: ReadonlySet<string> = new Set(order)

/** The schema with ordered keys, and with the format of an integer that has both bounds. */
export const finished = (schema: StructuralSchema): StructuralSchema => {
  const format = schema.format ?? integerFormat(schema)
  const whole = format === undefined ? schema : { ...schema, format }
  return Object.fromEntries(order.flatMap((key) => (whole[key] === undefined ? [] : [[key, whole[key]]])))
}

const integerFormat = ({ type, minimum, maximum }: StructuralSchema): string | undefined =>
  type !== "integer" || minimum === undefined || maximum === undefined
    ? undefined
    : minimum >= -(2 ** 31) && maximum < 2 ** 31
      ? "int32"
      : "int64"

/**
 * Adds the facts of a `jsonSchema` annotation (JSON Schema 7, a pattern possibly as RegExp): of two bounds the narrower one counts,
 * of two patterns both. The failure is the fact that a structural schema cannot express.
 */
export const narrow = (schema: StructuralSchema, facts: object): Result.Result<StructuralSchema, string> =>
  Object.entries(facts).reduce<Result.Result<StructuralSchema, string>>(
    (before, [key, value]) => Result.flatMap(before, (schema) => narrowBy(schema, key, value)),
    Result.succeed(schema)
  )

const narrowBy = (schema: StructuralSchema, key: string, value: unknown): Result.Result<StructuralSchema, string> => {
  switch (key) {
    // Annotations for readers, which a structural schema does not support.
    case "title":
    case "examples":
    case "$comment":
      return Result.succeed(schema)
    case "minimum":
    case "exclusiveMinimum":
      return typeof value === "number"
        ? Result.succeed(atLeast(schema, value, key === "exclusiveMinimum"))
        : as(schema, key, value)
    case "maximum":
    case "exclusiveMaximum":
      return typeof value === "number"
        ? Result.succeed(atMost(schema, value, key === "exclusiveMaximum"))
        : as(schema, key, value)
    case "minLength":
    case "minItems":
    case "minProperties":
      return as(schema, key, typeof value === "number" ? Math.max(value, schema[key] ?? 0) : value)
    case "maxLength":
    case "maxItems":
    case "maxProperties":
      return as(schema, key, typeof value === "number" ? Math.min(value, schema[key] ?? value) : value)
    case "pattern":
      return Result.mapBoth(value instanceof RegExp ? Pattern.fromRegExp(value) : Pattern.fromText(String(value)), {
        onFailure: (problem) => `its pattern ${problem}`,
        onSuccess: (pattern) => also(schema, key, pattern)
      })
    case "multipleOf":
      return typeof value === "number" ? Result.succeed(also(schema, key, value)) : as(schema, key, value)
    default:
      return known.has(key)
        ? as(schema, key, value)
        : Result.fail(`its jsonSchema annotation has ${JSON.stringify(key)}, which a CRD cannot hold`)
  }
}

// The author of the schema wrote the annotation under a known key, and the API server validates it.
const as = (schema: StructuralSchema, key: string, value: unknown): Result.Result<StructuralSchema, string> =>
  Result.succeed({ ...schema, [key]: value })

const atLeast = (schema: StructuralSchema, minimum: number, exclusive: boolean): StructuralSchema => {
  const { minimum: former, exclusiveMinimum: formerExclusive, ...rest } = schema
  if (former !== undefined && former > minimum) return schema
  const outside = exclusive || (former === minimum && formerExclusive === true)
  return { ...rest, minimum, ...(outside ? { exclusiveMinimum: true } : {}) }
}

const atMost = (schema: StructuralSchema, maximum: number, exclusive: boolean): StructuralSchema => {
  const { maximum: former, exclusiveMaximum: formerExclusive, ...rest } = schema
  if (former !== undefined && former < maximum) return schema
  const outside = exclusive || (former === maximum && formerExclusive === true)
  return { ...rest, maximum, ...(outside ? { exclusiveMaximum: true } : {}) }
}

const also = (schema: StructuralSchema, key: "pattern" | "multipleOf", value: string | number): StructuralSchema =>
  schema[key] === undefined || schema[key] === value
    ? { ...schema, [key]: value }
    : schema.allOf?.some((part) => part[key] === value)
      ? schema
      : { ...schema, allOf: [...(schema.allOf ?? []), { [key]: value }] }
