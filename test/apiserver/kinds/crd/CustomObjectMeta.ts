/**
 * ObjectMeta of custom resources, at their root and in embedded resources (`x-kubernetes-embedded-resource`). Its fields have the
 * types of the built-in kinds. A CRD cannot change these types.
 */
import * as Json from "../../model/Json.ts"
import type { Schema } from "../../model/Schema.ts"
import * as StructuralSchema from "./StructuralSchema.ts"

const text: Schema = { type: "string" }
const integer: Schema = { type: "integer", format: "int64" }
const flag: Schema = { type: "boolean" }
const time: Schema = { type: "string", format: "date-time", nullable: true }
const map: Schema = { type: "object", additionalProperties: text }

/** The schema of ObjectMeta. */
export const objectMeta: Schema = {
  type: "object",
  properties: {
    annotations: map,
    creationTimestamp: time,
    deletionGracePeriodSeconds: integer,
    deletionTimestamp: time,
    finalizers: { type: "array", items: text, "x-kubernetes-list-type": "set", "x-kubernetes-patch-strategy": "merge" },
    generateName: text,
    generation: integer,
    labels: map,
    managedFields: {
      type: "array",
      "x-kubernetes-list-type": "atomic",
      items: {
        type: "object",
        properties: {
          apiVersion: text,
          fieldsType: text,
          fieldsV1: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
          manager: text,
          operation: text,
          subresource: text,
          time
        }
      }
    },
    name: text,
    namespace: text,
    ownerReferences: {
      type: "array",
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["uid"],
      "x-kubernetes-patch-strategy": "merge",
      "x-kubernetes-patch-merge-key": "uid",
      items: {
        type: "object",
        "x-kubernetes-map-type": "atomic",
        required: ["apiVersion", "kind", "name", "uid"],
        properties: {
          apiVersion: text,
          blockOwnerDeletion: flag,
          controller: flag,
          kind: text,
          name: text,
          uid: text
        }
      }
    },
    resourceVersion: text,
    selfLink: text,
    uid: text
  }
}

/** Returns the error of Go's decoder for the first field of a wrong type; undefined: all types are right. */
export const misread = (metadata: Json.Json): string | undefined => misreadAt(metadata, objectMeta, "ObjectMeta", "")

/** Returns metadata as Go encodes it: without null and empty fields, but with all required fields of owner references. */
export const asGo = (metadata: Json.JsonObject): Json.DraftObject => structAsGo(objectMeta, metadata)

const structAsGo = ({ properties = {}, required = [] }: Schema, value: Json.JsonObject): Json.DraftObject => {
  const made: Json.DraftObject = {}
  for (const name of new Set([...required, ...Object.keys(value)])) {
    const known = properties[name]
    const read = valueAsGo(known ?? {}, value[name] ?? null)
    if (required.includes(name) || !isOmitted(name, read)) Json.put(made, name, read)
  }
  return made
}

/** Replaces null by the empty value of a Go type that is not a pointer. */
const valueAsGo = (schema: Schema, value: Json.Json): Json.Draft => {
  if (Json.isList(value)) return value.map((item) => valueAsGo({ ...schema.items, nullable: false }, item))
  if (schema.properties !== undefined) return structAsGo(schema, Json.object(value))
  if (value === null) return schema.type === "string" && schema.nullable !== true ? "" : null
  const values = schema.additionalProperties
  if (!Json.isObject(value) || typeof values !== "object") return Json.copy(value)
  return Object.fromEntries(Object.entries(value).map(([name, member = null]) => [name, valueAsGo(values, member)]))
}

/** Whether Go omits a field. Go keeps a pointer to zero or false. Go also keeps an empty `fieldsV1`, which Go holds as raw JSON. */
const isOmitted = (name: string, value: Json.Draft): boolean =>
  value === null ||
  value === "" ||
  (value === 0 && name !== "deletionGracePeriodSeconds") ||
  (typeof value === "object" && Object.keys(value).length === 0 && name !== "fieldsV1")

const misreadAt = (value: Json.Json | undefined, schema: Schema, struct: string, path: string): string | undefined => {
  if (value === null || value === undefined || schema["x-kubernetes-preserve-unknown-fields"] === true) return undefined
  const is = typeOf(value)
  const overflows = typeof value === "number" && (!Number.isInteger(value) || Math.abs(value) >= 2 ** 63)
  if (overflows || is !== goType(schema)) {
    return `json: cannot unmarshal ${overflows ? `number ${value}` : is} into Go ${path === "" ? "value" : `struct field ${struct}.${path}`} of type ${written(schema, path)}`
  }
  if (Json.isList(value)) return first(value, (item) => misreadAt(item, schema.items ?? {}, struct, path))
  if (!Json.isObject(value)) return undefined
  return first(Object.entries(value), ([name, member]) => {
    const named = StructuralSchema.propertyOf(schema, name)
    if (named !== undefined)
      return misreadAt(member, named, structs[path] ?? struct, path === "" ? name : `${path}.${name}`)
    const values = schema.additionalProperties
    return typeof values === "object" ? misreadAt(member, values, struct, path) : undefined
  })
}

/** The Go structs of list items, by the path of the list. */
const structs: { readonly [path: string]: string } = {
  ownerReferences: "OwnerReference",
  managedFields: "ManagedFieldsEntry"
}

const first = <A>(items: ReadonlyArray<A>, find: (item: A) => string | undefined): string | undefined => {
  for (const item of items) {
    const found = find(item)
    if (found !== undefined) return found
  }
  return undefined
}

const typeOf = (value: Json.Json): string => {
  if (Json.isList(value)) return "array"
  if (typeof value === "boolean") return "bool"
  return typeof value
}

const goType = ({ type }: Schema): string =>
  type === "integer" ? "number" : type === "boolean" ? "bool" : (type ?? "")

const written = (schema: Schema, path: string): string => {
  if (path === "") return "v1.ObjectMeta"
  if (path === "ownerReferences") return schema.type === "array" ? "[]v1.OwnerReference" : "v1.OwnerReference"
  if (path === "managedFields") return schema.type === "array" ? "[]v1.ManagedFieldsEntry" : "v1.ManagedFieldsEntry"
  if (schema.type === "array") return "[]string"
  if (schema.type === "object") return "map[string]string"
  if (schema.type === "integer") return "int64"
  return schema.type === "boolean" ? "bool" : "string"
}
