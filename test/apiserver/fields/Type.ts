/**
 * Derives from the schema of a kind how its values are merged and owned. A type records which values are atomic and which keys
 * identify the items of a list. Each schema is converted once and cached.
 */
import type { Json } from "../model/Json.ts"
import * as J from "../model/Json.ts"
import { definitionOf, schemaNamed } from "../model/OpenApiDefinitions.ts"
import type { Schema } from "../model/Schema.ts"

/** The types of a value that is neither a list nor an object. */
export type Scalar = "numeric" | "string" | "boolean" | "untyped"

/** A list: atomic, a set, or a list of objects that `keys` identify. */
export interface ListType {
  readonly element: Type
  readonly atomic: boolean
  readonly keys: ReadonlyArray<string>
}

/** A property that the schema declares. */
export interface Field {
  readonly type: Type
  readonly default: Json | undefined
}

/** An object: atomic, or owned field by field. */
export interface MapType {
  readonly fields: ReadonlyMap<string, Field>
  /** The type of the properties that the schema does not declare; undefined if such properties are not allowed. */
  readonly element: Type | undefined
  readonly atomic: boolean
}

/** The forms that a value may have. If several forms are possible, the value determines the form. */
export interface Type {
  readonly scalar?: Scalar
  readonly list?: ListType
  readonly map?: MapType
}

/** The properties of a kind that determine the types of its objects. */
export interface Schemed {
  readonly schema: Schema
  readonly custom: boolean
}

/**
 * Returns the type of the objects of a kind, cached by schema. Every custom kind has metadata, even if its schema does not
 * declare it.
 */
export const ofKind = ({ custom, schema }: Schemed): Type => {
  if (!custom) return ofSchema(schema, false)
  const found = customKinds.get(schema)
  if (found !== undefined) return found
  const { map, ...rest } = ofSchema(schema, false)
  const made = map === undefined ? rest : { ...rest, map: withMetadata(map) }
  customKinds.set(schema, made)
  return made
}

/** Returns the type of a property, declared or not. A property that the schema does not allow has the deduced type. */
export const memberOf = (map: MapType, name: string): Type => map.fields.get(name)?.type ?? map.element ?? deduced

/** Chooses the form in which to handle a value: the value's own form if the type allows it, otherwise the first form that it allows. */
export const formOf = ({ list, map, scalar }: Type, value: Json | undefined): "map" | "scalar" | "list" => {
  if (value !== undefined && value !== null) {
    if (typeof value !== "object") {
      if (scalar !== undefined) return "scalar"
    } else if (J.isList(value)) {
      if (list !== undefined) return "list"
    } else if (map !== undefined) return "map"
  }
  if (map !== undefined) return "map"
  return scalar !== undefined ? "scalar" : "list"
}

/** Reports whether the schema declares neither the properties of an object nor a type for them. */
export const isUnknown = ({ element, fields }: MapType): boolean =>
  fields.size === 0 && element !== undefined && (element === deduced || element.scalar === "untyped")

type Making = { -readonly [name in keyof Type]: Type[name] }

/** Any value, always atomic. */
const atomic: Making = { scalar: "untyped" }
atomic.list = { element: atomic, atomic: true, keys: [] }
atomic.map = { fields: new Map(), element: atomic, atomic: true }

/** Any value without a schema: a list is atomic, an object is owned field by field. */
const deduced: Making = { scalar: "untyped", list: atomic.list }
deduced.map = { fields: new Map(), element: deduced, atomic: false }

const text: Type = { scalar: "string" }
const scalar: Type = { scalar: "untyped" }

const customKinds = new WeakMap<Schema, Type>()
const known = new WeakMap<Schema, Type>()
const knownPreserving = new WeakMap<Schema, Type>()

/** Converts a schema. With `preserving`, an enclosing schema preserves unknown fields, so its subschemas preserve them too. */
const ofSchema = (schema: Schema, preserving: boolean): Type => {
  const definition = definitionOf(schema)
  if (definition === "io.k8s.apimachinery.pkg.api.resource.Quantity") return scalar
  if (definition === "io.k8s.apimachinery.pkg.runtime.RawExtension") return atomic
  const preserves = schema["x-kubernetes-preserve-unknown-fields"] === true || (preserving && definition === undefined)
  const cache = preserves ? knownPreserving : known
  const found = cache.get(schema)
  if (found !== undefined) return found
  const made: Making = {}
  // The type is cached before it is complete, because a schema may contain itself.
  cache.set(schema, made)
  return Object.assign(made, derived(schema, preserves))
}

const derived = (schema: Schema, preserving: boolean): Type => {
  switch (schema.type) {
    case undefined:
      return { scalar: "untyped", list: listOf(schema, preserving), map: mapOf(schema, preserving) }
    case "object":
      return { map: mapOf(schema, preserving) }
    case "array":
      return { list: listOf(schema, preserving) }
    case "boolean":
      return { scalar: "boolean" }
    case "string":
      return schema.format === undefined || schema.format === "" || schema.format === "byte" ? text : scalar
    default:
      return { scalar: "numeric" }
  }
}

const listOf = (schema: Schema, preserving: boolean): ListType => {
  const keys = keysOf(schema)
  return {
    element: schema.items === undefined ? atomic : ofSchema(schema.items, preserving),
    atomic: keys === undefined,
    keys: keys ?? []
  }
}

/** Returns the keys that identify the items of a list: an empty list for a set, undefined for an atomic list. */
const keysOf = (schema: Schema): ReadonlyArray<string> | undefined => {
  const listType = schema["x-kubernetes-list-type"]
  if (listType !== undefined) {
    if (listType === "atomic") return undefined
    return listType === "set" ? [] : (schema["x-kubernetes-list-map-keys"] ?? [])
  }
  const strategy = schema["x-kubernetes-patch-strategy"]
  if (strategy !== "merge" && strategy !== "merge,retainKeys") return undefined
  const key = schema["x-kubernetes-patch-merge-key"]
  return key === undefined ? [] : [key]
}

const mapOf = (schema: Schema, preserving: boolean): MapType => {
  const properties = Object.entries(schema.properties ?? {})
  const fields = new Map(
    properties.map(([name, property]) => [name, { type: ofSchema(property, preserving), default: property.default }])
  )
  const map = {
    fields,
    element: elementOf(schema, preserving || properties.length === 0, preserving),
    atomic: schema["x-kubernetes-map-type"] === "atomic"
  }
  return schema["x-kubernetes-embedded-resource"] === true ? withMetadata(map) : map
}

const elementOf = ({ additionalProperties }: Schema, openByDefault: boolean, preserving: boolean): Type | undefined => {
  if (typeof additionalProperties === "object") return ofSchema(additionalProperties, preserving)
  return (additionalProperties ?? openByDefault) ? deduced : undefined
}

const withMetadata = (map: MapType): MapType => {
  const metadata = ofSchema(schemaNamed("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"), false)
  return {
    ...map,
    fields: new Map([
      ...map.fields,
      ["apiVersion", { type: text, default: undefined }],
      ["kind", { type: text, default: undefined }],
      ["metadata", { type: metadata, default: undefined }]
    ])
  }
}
