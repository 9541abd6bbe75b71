/** Validates the types of lists and maps: `x-kubernetes-list-type`, `x-kubernetes-list-map-keys` and `x-kubernetes-map-type`. */
import * as FieldError from "../../../model/FieldError.ts"
import * as Json from "../../../model/Json.ts"
import { shownItems } from "./Internal.ts"

type Errors = ReadonlyArray<FieldError.FieldError>

/** Returns the error of a required member if its value is empty, and otherwise the error of an invalid member. */
const requiredOrInvalid = (path: string, value: string, detail: string): FieldError.FieldError =>
  value === "" ? FieldError.required(path, detail) : FieldError.invalid(path, value, detail)

/** Returns the errors of one schema, without the schemas inside it. */
export const validate = (schema: Json.JsonObject, path: string): Errors => {
  const type = Json.text(schema.type) ?? ""
  const mapType = Json.text(schema["x-kubernetes-map-type"])
  const listType = Json.text(schema["x-kubernetes-list-type"])
  const keys = Json.list(schema["x-kubernetes-list-map-keys"])
  return [
    ...(schema["x-kubernetes-preserve-unknown-fields"] === false
      ? [FieldError.invalid(`${path}.x-kubernetes-preserve-unknown-fields`, false, "must be true or undefined")]
      : []),
    ...(mapType !== undefined && type !== "object"
      ? [requiredOrInvalid(`${path}.type`, type, "must be object if x-kubernetes-map-type is specified")]
      : []),
    ...(mapType !== undefined && !["atomic", "granular"].includes(mapType)
      ? [FieldError.notSupported(`${path}.x-kubernetes-map-type`, mapType, ["atomic", "granular"])]
      : []),
    ...(listType !== undefined && type !== "array"
      ? [requiredOrInvalid(`${path}.type`, type, "must be array if x-kubernetes-list-type is specified")]
      : listType === "set"
        ? ofSet(Json.object(schema.items), path)
        : []),
    ...(listType !== undefined && !["atomic", "set", "map"].includes(listType)
      ? [FieldError.notSupported(`${path}.x-kubernetes-list-type`, listType, ["atomic", "set", "map"])]
      : []),
    ...(keys.length > 0 && listType !== "map"
      ? [
          requiredOrInvalid(
            `${path}.x-kubernetes-list-type`,
            listType ?? "",
            "must be map if x-kubernetes-list-map-keys is non-empty"
          )
        ]
      : []),
    ...(listType === "map" ? ofMapList(schema, keys, path) : []),
    ...(listType === "map" || listType === "set" ? ofItems(schema, listType, keys, path) : [])
  ]
}

const ofSet = (items: Json.JsonObject, path: string): Errors => {
  const listType = items["x-kubernetes-list-type"] ?? null
  const detail = "must be atomic as item of a list with x-kubernetes-list-type=set"
  if (items.type === "array" && listType !== null && listType !== "atomic") {
    return [FieldError.invalid(`${path}.items.x-kubernetes-list-type`, listType, detail)]
  }
  if (items.type === "object" && items["x-kubernetes-map-type"] !== "atomic") {
    return [FieldError.invalid(`${path}.items.x-kubernetes-map-type`, listType, detail)]
  }
  return []
}

const ofMapList = (schema: Json.JsonObject, keys: ReadonlyArray<Json.Json>, path: string): Errors => {
  const { items } = schema
  const here = Json.object(items)
  const itemType = Json.text(here.type) ?? ""
  return [
    ...(keys.length === 0
      ? [
          FieldError.required(
            `${path}.x-kubernetes-list-map-keys`,
            "must not be empty if x-kubernetes-list-type is map"
          )
        ]
      : []),
    ...(items !== undefined && items !== null
      ? []
      : [FieldError.required(`${path}.items`, "must have a schema if x-kubernetes-list-type is map")]),
    ...(Json.isList(items)
      ? [
          FieldError.invalid(
            `${path}.items`,
            shownItems(items),
            "must only have a single schema if x-kubernetes-list-type is map"
          )
        ]
      : []),
    ...(Json.isObject(items) && itemType !== "object"
      ? [
          FieldError.invalid(
            `${path}.items.type`,
            itemType,
            "must be object if parent array's x-kubernetes-list-type is map"
          )
        ]
      : []),
    ...(itemType === "object" ? ofKeys(here, keys, path) : [])
  ]
}

const ofKeys = (items: Json.JsonObject, keys: ReadonlyArray<Json.Json>, path: string): Errors =>
  keys.flatMap((key, index) => {
    const name = Json.text(key) ?? ""
    const property = Json.at(items, "properties", name)
    const type = Json.at(property, "type")
    const scalar = "must be a scalar type if parent array's x-kubernetes-list-type is map"
    return [
      ...(property === undefined
        ? [
            FieldError.invalid(
              `${path}.x-kubernetes-list-map-keys`,
              keys,
              "entries must all be names of item properties"
            )
          ]
        : type === "array" || type === "object"
          ? [FieldError.invalid(`${path}.items.properties[${name}].type`, Json.text(items.type), scalar)]
          : []),
      ...(keys.indexOf(key) < index
        ? [FieldError.invalid(`${path}.x-kubernetes-list-map-keys`, keys, "must not contain duplicate entries")]
        : [])
    ]
  })

/** Requires that items of sets and maps are not nullable, and that map keys are required or have a default. */
const ofItems = (schema: Json.JsonObject, listType: string, keys: ReadonlyArray<Json.Json>, path: string): Errors => {
  const items = Json.object(schema.items)
  const required = Json.list(items.required)
  const named = keys.flatMap((key) => {
    const name = Json.text(key) ?? ""
    const property = Json.at(items, "properties", name)
    return Json.isObject(property) ? [{ name, property }] : []
  })
  return [
    ...(items.nullable === true
      ? [
          FieldError.forbidden(
            `${path}.items.nullable`,
            `cannot be nullable when x-kubernetes-list-type is ${listType}`
          )
        ]
      : []),
    ...(listType === "map" ? named : []).flatMap(({ name, property }) => [
      ...(required.includes(name) || (property.default ?? null) !== null
        ? []
        : [
            FieldError.required(
              `${path}.items.properties[${name}].default`,
              "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property"
            )
          ]),
      ...(property.nullable === true
        ? [
            FieldError.forbidden(
              `${path}.items.properties[${name}].nullable`,
              "this property is in x-kubernetes-list-map-keys, so it cannot be nullable"
            )
          ]
        : [])
    ])
  ]
}
