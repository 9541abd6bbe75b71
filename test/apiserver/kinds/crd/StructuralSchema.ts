/**
 * Reads the schema of a CRD (`openAPIV3Schema`) into a typed form. It ignores members that a schema must not have, because the
 * validation of the CRD reports them.
 */
import * as Json from "../../model/Json.ts"
import type { Rule, Schema } from "../../model/Schema.ts"

/** Reads a schema from JSON. It ignores unknown members, and members of the wrong type. */
export const schemaOf = (value: Json.Json | undefined): Schema => {
  const read = Json.object(value)
  const made: Making = {}
  for (const name of textual) {
    const text = Json.text(read[name])
    if (text !== undefined && text !== "") made[name] = text
  }
  for (const name of numeric) {
    const number = Json.number(read[name])
    if (number !== undefined) made[name] = number
  }
  for (const name of flags) if (read[name] === true) made[name] = true
  for (const name of junctions) if (Json.isList(read[name])) made[name] = Json.list(read[name]).map(schemaOf)
  for (const name of lists) if (Json.isList(read[name])) made[name] = strings(read[name])
  const type = types.find((one) => one === read.type)
  if (type !== undefined) made.type = type
  const listType = listTypes.find((one) => one === read["x-kubernetes-list-type"])
  if (listType !== undefined) made["x-kubernetes-list-type"] = listType
  const mapType = mapTypes.find((one) => one === read["x-kubernetes-map-type"])
  if (mapType !== undefined) made["x-kubernetes-map-type"] = mapType
  if (read.default !== undefined && read.default !== null) made.default = read.default
  if (Json.isList(read.enum)) made.enum = read.enum
  if (Json.isObject(read.not)) made.not = schemaOf(read.not)
  if (Json.isObject(read.items)) made.items = schemaOf(read.items)
  if (Json.isObject(read.properties)) made.properties = schemasOf(read.properties)
  const additional = read.additionalProperties
  if (typeof additional === "boolean") made.additionalProperties = additional
  if (Json.isObject(additional)) made.additionalProperties = schemaOf(additional)
  const rules = Json.objects(read["x-kubernetes-validations"])
  if (rules.length > 0) made["x-kubernetes-validations"] = rules.map(ruleOf)
  return made
}

/** Returns the schema of a map's values; undefined: the schema is not a map, or its values can have any type. */
export const valuesOf = ({ additionalProperties }: Schema): Schema | undefined =>
  typeof additionalProperties === "object" ? additionalProperties : undefined

/** Returns the schema of a member: that of a property, or that of the values of a map. */
export const memberOf = (schema: Schema | undefined, name: string): Schema | undefined => {
  if (schema === undefined) return undefined
  return propertyOf(schema, name) ?? valuesOf(schema)
}

/** Returns the schema of a property that the schema declares. */
export const propertyOf = ({ properties }: Schema, name: string): Schema | undefined =>
  properties !== undefined && Object.hasOwn(properties, name) ? properties[name] : undefined

type Making = { -readonly [name in keyof Schema]: Schema[name] }

const textual = ["format", "description", "pattern"] as const
const numeric = [
  "minimum",
  "maximum",
  "multipleOf",
  "minLength",
  "maxLength",
  "minItems",
  "maxItems",
  "minProperties",
  "maxProperties"
] as const
const flags = [
  "nullable",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "uniqueItems",
  "x-kubernetes-int-or-string",
  "x-kubernetes-preserve-unknown-fields",
  "x-kubernetes-embedded-resource"
] as const
const junctions = ["allOf", "anyOf", "oneOf"] as const
const lists = ["required", "x-kubernetes-list-map-keys"] as const
const types = ["string", "integer", "number", "boolean", "object", "array"] as const
const listTypes = ["atomic", "set", "map"] as const
const mapTypes = ["atomic", "granular"] as const

const strings = (value: Json.Json | undefined): ReadonlyArray<string> =>
  Json.list(value).filter((item): item is string => typeof item === "string")

const schemasOf = (value: Json.JsonObject): { readonly [name: string]: Schema } =>
  Object.fromEntries(Object.entries(value).map(([name, schema]) => [name, schemaOf(schema)]))

const ruleOf = (read: Json.JsonObject): Rule => ({
  rule: Json.text(read.rule) ?? "",
  ...member(read, "message"),
  ...member(read, "messageExpression"),
  ...member(read, "reason"),
  ...member(read, "fieldPath"),
  ...(typeof read.optionalOldSelf === "boolean" && { optionalOldSelf: read.optionalOldSelf })
})

const member = <Name extends "message" | "messageExpression" | "reason" | "fieldPath">(
  read: Json.JsonObject,
  name: Name
): { readonly [name in Name]?: string } => {
  const text = Json.text(read[name])
  const made: { [name in Name]?: string } = {}
  if (text !== undefined) made[name] = text
  return made
}
