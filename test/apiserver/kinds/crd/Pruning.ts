/**
 * Prunes custom resources: removes fields that the schema does not declare, and null in fields that are not nullable.
 * `x-kubernetes-preserve-unknown-fields` keeps a subtree, except that parts with a schema of their own are pruned.
 * `x-kubernetes-embedded-resource` keeps apiVersion, kind and metadata.
 */
import * as Json from "../../model/Json.ts"
import type { Schema } from "../../model/Schema.ts"
import * as CustomObjectMeta from "./CustomObjectMeta.ts"
import * as StructuralSchema from "./StructuralSchema.ts"

/** A pruned value, and the sorted paths of the removed fields: `spec.foo`, `spec.list[0].bar`. */
export interface Pruned {
  readonly value: Json.DraftObject
  readonly unknown: ReadonlyArray<string>
}

/** Returns a pruned copy of a resource. Does not change the resource. */
export const prune = (schema: Schema, resource: Json.JsonObject): Pruned => {
  const value = Json.copy(resource)
  const inMetadata: Array<string> = []
  const inResource: Array<string> = []
  const embedded: Array<string> = []
  if (Json.isObject(value.metadata)) {
    pruneAt(value.metadata, CustomObjectMeta.objectMeta, "metadata", inMetadata)
    value.metadata = CustomObjectMeta.asGo(Json.object(value.metadata))
  }
  pruneAt(value, { ...schema, "x-kubernetes-embedded-resource": true }, "", inResource)
  dropNulls(value, schema)
  coerce(value, schema, "", embedded)
  return { value, unknown: [...inMetadata.sort(), ...inResource.sort(), ...embedded.sort()] }
}

/** Whether a value has only fields that its schema declares. */
export const isPruned = (schema: Schema, value: Json.Json): boolean => {
  const unknown: Array<string> = []
  pruneAt(Json.copy(value), schema, "", unknown)
  return unknown.length === 0
}

const meta: ReadonlySet<string> = new Set(["apiVersion", "kind", "metadata"])

const child = (path: string, name: string): string => (path === "" ? name : `${path}.${name}`)

const pruneAt = (value: Json.Draft, schema: Schema | undefined, path: string, unknown: Array<string>): void => {
  if (typeof value !== "object" || value === null) return
  const keeps = schema?.["x-kubernetes-preserve-unknown-fields"] === true
  if (Array.isArray(value)) {
    value.forEach((item, index) => {
      // A list that preserves unknown fields also keeps items without a schema.
      if (!keeps || schema.items !== undefined) pruneAt(item, itemsOf(schema, keeps), `${path}[${index}]`, unknown)
    })
    return
  }
  for (const name of Object.keys(value)) {
    if (schema?.["x-kubernetes-embedded-resource"] === true && meta.has(name)) continue
    const known = schema === undefined ? undefined : StructuralSchema.propertyOf(schema, name)
    const member = value[name]
    if (member === undefined) continue
    if (known !== undefined) pruneAt(member, known, child(path, name), unknown)
    else if (schema?.additionalProperties !== undefined) {
      const values = StructuralSchema.valuesOf(schema)
      // `additionalProperties: true` keeps members of every name, but prunes all fields inside objects.
      pruneAt(member, values, child(path, name), unknown)
    } else if (!keeps) {
      if (!meta.has(name) || path !== "") unknown.push(child(path, name))
      delete value[name]
    }
  }
}

/** Returns the schema of items. In a list that preserves unknown fields, the items preserve them, too. */
const itemsOf = (schema: Schema | undefined, keeps: boolean): Schema | undefined =>
  keeps && schema?.items !== undefined
    ? { ...schema.items, "x-kubernetes-preserve-unknown-fields": true }
    : schema?.items

const dropNulls = (value: Json.Draft, schema: Schema | undefined): void => {
  if (typeof value !== "object" || value === null) return
  if (Array.isArray(value)) {
    for (const item of value) dropNulls(item, schema?.items)
    return
  }
  for (const name of Object.keys(value)) {
    const known = StructuralSchema.memberOf(schema, name)
    const member = value[name]
    if (member === null && known !== undefined && known.nullable !== true && known.default === undefined) {
      delete value[name]
    } else if (member !== undefined) dropNulls(member, known)
  }
}

/** Prunes and encodes the metadata of embedded resources as `CustomObjectMeta`. */
const coerce = (value: Json.Draft, schema: Schema | undefined, path: string, unknown: Array<string>): void => {
  if (schema === undefined || typeof value !== "object" || value === null) return
  if (Array.isArray(value)) {
    value.forEach((item, index) => {
      coerce(item, schema.items, `${path}[${index}]`, unknown)
    })
    return
  }
  const { metadata } = value
  if (schema["x-kubernetes-embedded-resource"] === true && (metadata === null || Json.isObject(metadata))) {
    pruneAt(metadata, CustomObjectMeta.objectMeta, child(path, "metadata"), unknown)
    value.metadata = CustomObjectMeta.asGo(Json.object(value.metadata))
  }
  for (const name of Object.keys(value)) {
    const member = value[name]
    if (member !== undefined) coerce(member, StructuralSchema.memberOf(schema, name), child(path, name), unknown)
  }
}
