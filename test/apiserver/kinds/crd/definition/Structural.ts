/**
 * Checks that a schema is structural. Every field has a type outside of `allOf`, `anyOf`, `oneOf` and `not`. These keywords only
 * restrict fields that the schema declares outside of them.
 */
import * as FieldError from "../../../model/FieldError.ts"
import * as Json from "../../../model/Json.ts"
import * as RegularExpression from "../RegularExpression.ts"
import * as Walk from "./Walk.ts"

type Errors = ReadonlyArray<FieldError.FieldError>

/** Returns the errors of a schema that is not structural, sorted by their text. */
export const validate = (schema: Json.JsonObject, path: string): Errors =>
  [...invariants(schema, "root", path), ...completeness(schema, schema, path, path)].sort((one, other) =>
    FieldError.sentence(one) < FieldError.sentence(other) ? -1 : 1
  )

/** Whether a schema has members that a structural schema cannot hold. `SchemaValidation` reports them, and callers skip `validate`. */
export const isUnreadable = (schema: Json.JsonObject): boolean => [...Walk.schemas(schema)].some(says)

const says = (schema: Json.JsonObject): boolean =>
  ["id", "$schema", "$ref", "additionalItems"].some((name) => !empty(schema[name])) ||
  ["patternProperties", "dependencies", "definitions"].some(
    (name) => Object.keys(Json.object(schema[name])).length > 0
  ) ||
  Json.list(schema.items).length > 0 ||
  schema["x-kubernetes-preserve-unknown-fields"] === false

type Level = "root" | "item" | "field"

const typeOf = (schema: Json.JsonObject): string => Json.text(schema.type) ?? ""
const flag = (schema: Json.JsonObject, name: string): boolean => schema[`x-kubernetes-${name}`] === true
const propertiesOf = (schema: Json.JsonObject): ReadonlyArray<readonly [string, Json.JsonObject]> =>
  Object.entries(Json.object(schema.properties)).map(([name, property]) => [name, Json.object(property)])

const invariants = (schema: Json.JsonObject, level: Level, path: string): Errors => {
  const { additionalProperties, items } = schema
  const type = typeOf(schema)
  const embedded = flag(schema, "embedded-resource")
  const additional = additionalProperties !== undefined && additionalProperties !== null
  const checkMetadata = level === "root" || embedded
  const metadata = Json.at(schema, "properties", "metadata")
  return [
    ...(type === "array" && !Json.isObject(items) ? [FieldError.required(`${path}.items`, "must be specified")] : []),
    ...(Json.isObject(items) ? invariants(items, "item", `${path}.items`) : []),
    ...propertiesOf(schema).flatMap(([name, property]) => invariants(property, "field", `${path}.properties[${name}]`)),
    ...(additional && level === "root"
      ? [FieldError.forbidden(`${path}.additionalProperties`, "must not be used at the root")]
      : []),
    ...(Json.isObject(additionalProperties)
      ? invariants(additionalProperties, "field", `${path}.additionalProperties`)
      : []),
    ...extensions(schema, path),
    ...junctions(
      schema,
      path,
      intOrStringAnyOf(schema.anyOf),
      intOrStringAnyOf(Json.at(Json.objects(schema.allOf)[0], "anyOf"))
    ),
    ...ofType(schema, type, level, path),
    ...(embedded && additional
      ? [
          FieldError.forbidden(
            `${path}.additionalProperties`,
            "must not be used if x-kubernetes-embedded-resource is set"
          )
        ]
      : []),
    ...(level === "root" && type !== "" && type !== "object"
      ? [FieldError.invalid(`${path}.type`, type, "must be object at the root")]
      : []),
    ...(checkMetadata ? ["kind", "apiVersion"].flatMap((name) => ofTypeMeta(schema, name, path)) : []),
    ...(Json.isObject(metadata) ? ofMetadata(metadata, checkMetadata, level, `${path}.properties[metadata]`) : []),
    ...(embedded && !flag(schema, "preserve-unknown-fields") && propertiesOf(schema).length === 0
      ? [
          FieldError.required(
            `${path}.properties`,
            "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields"
          )
        ]
      : [])
  ]
}

const missingType: { readonly [level in Level]: string } = {
  root: "must not be empty at the root",
  item: "must not be empty for specified array items",
  field: "must not be empty for specified object fields"
}

const ofType = (schema: Json.JsonObject, type: string, level: Level, path: string): Errors => {
  if (flag(schema, "embedded-resource") && type !== "object") {
    const detail = "must be object if x-kubernetes-embedded-resource is true"
    return [
      type === "" ? FieldError.required(`${path}.type`, detail) : FieldError.invalid(`${path}.type`, type, detail)
    ]
  }
  if (type !== "" || flag(schema, "int-or-string") || flag(schema, "preserve-unknown-fields")) return []
  return [FieldError.required(`${path}.type`, missingType[level])]
}

const ofTypeMeta = (schema: Json.JsonObject, name: string, path: string): Errors => {
  const property = Json.at(schema, "properties", name)
  if (!Json.isObject(property) || typeOf(property) === "string") return []
  return [FieldError.invalid(`${path}.properties[${name}].type`, typeOf(property), "must be string")]
}

/** Reports metadata that is not an object. At the root, also reports restrictions other than those of `name` and `generateName`. */
const ofMetadata = (metadata: Json.JsonObject, checked: boolean, level: Level, path: string): Errors => {
  const { default: _, properties, type, ...others } = metadata
  const strange = Object.keys(Json.object(properties)).some((name) => name !== "name" && name !== "generateName")
  const says = Object.entries(others).some(([name, value]) => structural.has(name) && !empty(value))
  return [
    ...(checked && type !== "object" ? [FieldError.invalid(`${path}.type`, typeOf(metadata), "must be object")] : []),
    ...(level === "root" && (strange || says)
      ? [
          FieldError.forbidden(
            path,
            "must not specify anything other than name and generateName, but metadata is implicitly specified"
          )
        ]
      : [])
  ]
}

/** The members that a structural schema keeps. The conversion to a structural schema drops all other members. */
const structural: ReadonlySet<string> = new Set([
  "items",
  "additionalProperties",
  "title",
  "description",
  "nullable",
  "format",
  "maximum",
  "exclusiveMaximum",
  "minimum",
  "exclusiveMinimum",
  "maxLength",
  "minLength",
  "pattern",
  "maxItems",
  "minItems",
  "uniqueItems",
  "multipleOf",
  "enum",
  "maxProperties",
  "minProperties",
  "required",
  "allOf",
  "oneOf",
  "anyOf",
  "not",
  "x-kubernetes-preserve-unknown-fields",
  "x-kubernetes-embedded-resource",
  "x-kubernetes-int-or-string",
  "x-kubernetes-list-map-keys",
  "x-kubernetes-list-type",
  "x-kubernetes-map-type",
  "x-kubernetes-validations"
])

const empty = (value: Json.Json | undefined): boolean =>
  value === undefined || value === null || value === "" || value === false || (Json.isList(value) && value.length === 0)

const extensions = (schema: Json.JsonObject, path: string): Errors =>
  ["preserve-unknown-fields", "embedded-resource"]
    .filter((name) => flag(schema, "int-or-string") && flag(schema, name))
    .map((name) =>
      FieldError.invalid(`${path}.x-kubernetes-${name}`, true, "must be false if x-kubernetes-int-or-string is true")
    )

/** Whether `anyOf` is `[{type: integer}, {type: string}]`, the only alternatives that may declare types. */
const intOrStringAnyOf = (anyOf: Json.Json | undefined): boolean =>
  Json.equal(anyOf, [{ type: "integer" }, { type: "string" }])

const junctions = (schema: Json.JsonObject, path: string, skipAnyOf: boolean, skipFirst: boolean): Errors => {
  const pattern = Json.text(schema.pattern) ?? ""
  const compiled = RegularExpression.compile(pattern)
  const nested = (name: string) =>
    Json.objects(schema[name]).flatMap((one, index) =>
      ofNested(one, `${path}.${name}[${index}]`, name === "allOf" && index === 0 && skipFirst)
    )
  return [
    ...(skipAnyOf ? [] : nested("anyOf")),
    ...nested("allOf"),
    ...nested("oneOf"),
    ...(Json.isObject(schema.not) ? ofNested(schema.not, `${path}.not`) : []),
    ...("problem" in compiled
      ? [
          FieldError.invalid(
            `${path}.pattern`,
            pattern,
            `must be a valid regular expression, but isn't: ${compiled.problem}`
          )
        ]
      : [])
  ]
}

/** The members that a schema below `allOf`, `anyOf`, `oneOf` and `not` must not set, with the detail of the error. */
const forbidden: ReadonlyArray<readonly [name: string, detail: string]> = [
  ["type", "must be empty to be structural"],
  ["additionalProperties", "must be undefined to be structural"],
  ["default", "must be undefined to be structural"],
  ["title", "must be empty to be structural"],
  ["description", "must be empty to be structural"],
  ["nullable", "must be false to be structural"],
  ["x-kubernetes-preserve-unknown-fields", "must be false to be structural"],
  ["x-kubernetes-embedded-resource", "must be false to be structural"],
  ["x-kubernetes-int-or-string", "must be false to be structural"],
  ["x-kubernetes-list-map-keys", "must be empty to be structural"],
  ["x-kubernetes-list-type", "must be undefined to be structural"],
  ["x-kubernetes-map-type", "must be undefined to be structural"],
  ["x-kubernetes-validations", "must be empty to be structural"]
]

const ofNested = (schema: Json.JsonObject, path: string, skipAnyOf = false): Errors => [
  ...junctions(schema, path, skipAnyOf, false),
  ...(Json.isObject(schema.items) ? ofNested(schema.items, `${path}.items`) : []),
  ...propertiesOf(schema).flatMap(([name, property]) => ofNested(property, `${path}.properties[${name}]`)),
  ...forbidden
    .filter(([name]) => !empty(schema[name]) || (name === "additionalProperties" && schema[name] === false))
    .map(([name, detail]) => FieldError.forbidden(`${path}.${name}`, detail)),
  ...(Json.at(schema, "properties", "metadata") === undefined
    ? []
    : [FieldError.forbidden(`${path}.properties[metadata]`, "must not be specified in a nested context")])
]

/** Requires that the schema itself declares every field that its `allOf`, `anyOf`, `oneOf` and `not` restrict. */
const completeness = (
  constraints: Json.JsonObject,
  schema: Json.JsonObject | undefined,
  path: string,
  where: string
): Errors => [
  ...(Json.isObject(constraints.not) ? nestedCompleteness(constraints.not, schema, path, `${where}.not`) : []),
  ...["allOf", "anyOf", "oneOf"].flatMap((name) =>
    Json.objects(constraints[name]).flatMap((one, index) =>
      nestedCompleteness(one, schema, path, `${where}.${name}[${index}]`)
    )
  )
]

const nestedCompleteness = (
  constraints: Json.JsonObject,
  schema: Json.JsonObject | undefined,
  path: string,
  where: string
): Errors => {
  if (schema === undefined) return [FieldError.required(path, `because it is defined in ${where}`)]
  const { items } = schema
  return [
    ...completeness(constraints, schema, path, where),
    ...(Json.isObject(constraints.items)
      ? nestedCompleteness(
          constraints.items,
          Json.isObject(items) ? items : undefined,
          `${path}.items`,
          `${where}.items`
        )
      : []),
    ...propertiesOf(constraints).flatMap(([name, property]) => {
      const found = Json.at(schema, "properties", name)
      const here = `${path}.properties[${name}]`
      const there = `${where}.properties[${name}]`
      return Json.isObject(found)
        ? nestedCompleteness(property, found, here, there)
        : [FieldError.required(here, `because it is defined in ${there}`)]
    })
  ]
}
