/**
 * ObjectMeta as custom resources have it, at their root and in embedded resources (`x-kubernetes-embedded-resource`):
 * typed like a built-in kind's, whatever the CRD says.
 */
import * as Json from "../Json.ts"
import type { Schema } from "../Schema.ts"
import * as Schemas from "./Schemas.ts"

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

/** What is wrong with the type of a field, as Go's decoder says it. */
export const misread = (metadata: Json.Json): string | undefined => misreadAt(metadata, objectMeta, "ObjectMeta", "")

/** Leaves out what Go would not write: members that are empty. */
export const withoutEmpty = (metadata: Json.DraftObject): void => {
  for (const [name, value] of Object.entries(metadata)) {
    const empty =
      value === null ||
      value === "" ||
      value === 0 ||
      (typeof value === "object" && Object.keys(value).length === 0 && name !== "managedFields")
    if (empty && name !== "deletionGracePeriodSeconds") delete metadata[name]
  }
}

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
    const named = Schemas.propertyOf(schema, name)
    if (named !== undefined)
      return misreadAt(member, named, structs[path] ?? struct, path === "" ? name : `${path}.${name}`)
    const values = schema.additionalProperties
    return typeof values === "object" ? misreadAt(member, values, struct, path) : undefined
  })
}

/** What Go calls the objects in lists. */
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
