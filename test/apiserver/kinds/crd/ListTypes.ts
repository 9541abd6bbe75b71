/** Validates that lists of type set have no duplicate items, and that lists of type map have no duplicate keys. */
import * as FieldError from "../../model/FieldError.ts"
import * as Json from "../../model/Json.ts"
import type { Schema } from "../../model/Schema.ts"
import { sorted } from "./Sorted.ts"
import * as StructuralSchema from "./StructuralSchema.ts"

/** Returns the errors of duplicate items in all lists of a value. */
export const duplicates = (schema: Schema, value: Json.Json, path = ""): ReadonlyArray<FieldError.FieldError> => {
  if (!hasLists(schema)) return []
  if (Json.isList(value)) {
    const { items } = schema
    return [
      ...inList(schema, value, path),
      ...(items === undefined ? [] : value.flatMap((item, index) => duplicates(items, item, `${path}[${index}]`)))
    ]
  }
  if (!Json.isObject(value)) return []
  const values = StructuralSchema.valuesOf(schema)
  return Object.entries(value).flatMap(([name, member = null]) => [
    ...(values === undefined ? [] : duplicates(values, member, `${path}[${name}]`)),
    ...inMember(StructuralSchema.propertyOf(schema, name), member, path === "" ? name : `${path}.${name}`)
  ])
}

const inMember = (schema: Schema | undefined, value: Json.Json, path: string) =>
  schema === undefined ? [] : duplicates(schema, value, path)

const inList = (schema: Schema, list: ReadonlyArray<Json.Json>, path: string): ReadonlyArray<FieldError.FieldError> => {
  const type = schema["x-kubernetes-list-type"]
  if (type === "set")
    return repeated(list).map((index) => FieldError.duplicate(`${path}[${index}]`, sorted(list[index])))
  if (type !== "map") return []
  const strange = list.findIndex((item) => item !== null && !Json.isObject(item))
  if (strange >= 0) {
    const detail = "must be an object for an array of list-type map"
    return [FieldError.invalid(`${path}[${strange}]`, sorted(list[strange]), detail)]
  }
  const names = [...(schema["x-kubernetes-list-map-keys"] ?? [])].sort()
  const keys = list.map((item): Json.JsonObject => {
    const object = Json.object(item)
    return Object.fromEntries(names.filter((name) => object[name] !== undefined).map((name) => [name, object[name]]))
  })
  return repeated(keys).map((index) => FieldError.duplicate(`${path}[${index}]`, keys[index]))
}

/** Returns the indexes at which a value occurs for the second time. It ignores further occurrences. */
const repeated = (list: ReadonlyArray<Json.Json>): ReadonlyArray<number> => {
  if (list.length < 2) return []
  const seen = new Map<string, number>()
  return list.flatMap((item, index) => {
    const text = JSON.stringify(sorted(item))
    const times = seen.get(text) ?? 0
    seen.set(text, times + 1)
    return times === 1 ? [index] : []
  })
}

/** Whether a schema has lists of type set or map. The answer is cached for each schema. */
const hasLists = (schema: Schema): boolean => {
  const known = listing.get(schema)
  if (known !== undefined) return known
  const type = schema["x-kubernetes-list-type"]
  const values = StructuralSchema.valuesOf(schema)
  const inside = [...Object.values(schema.properties ?? {}), ...(schema.items ? [schema.items] : [])]
  if (values !== undefined) inside.push(values)
  const found = type === "set" || type === "map" || inside.some(hasLists)
  listing.set(schema, found)
  return found
}

const listing = new WeakMap<Schema, boolean>()
