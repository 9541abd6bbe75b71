/**
 * How the values of a kind are merged and owned, derived from its schema: what is one value, what is taken apart, and by which
 * keys identify the items of lists. Derived once per schema.
 */
import type { Json } from "../model/Json.ts"
import * as J from "../model/Json.ts"
import { definitionOf, schemaNamed } from "../model/OpenApiDefinitions.ts"
import type { Schema } from "../model/Schema.ts"

/** What a value that is neither list nor object may be. */
export type Scalar = "numeric" | "string" | "boolean" | "untyped"

/** A list: one value if it is atomic, else a set, or a list of objects that keys identify. */
export interface ListType {
  readonly element: Type
  readonly atomic: boolean
  readonly keys: ReadonlyArray<string>
}

/** A member that the schema names. */
export interface Field {
  readonly type: Type
  readonly default: Json | undefined
}

/** An object: one value if it is atomic, else owned member by member. */
export interface MapType {
  readonly fields: ReadonlyMap<string, Field>
  /** Of members that the schema does not name; undefined where there may be none. */
  readonly element: Type | undefined
  readonly atomic: boolean
}

/** What a value may be. Where several forms are possible, the value determines the form. */
export interface Type {
  readonly scalar?: Scalar
  readonly list?: ListType
  readonly map?: MapType
}

/** The properties of a kind that the types of its objects need. */
export interface Schemed {
  readonly schema: Schema
  readonly custom: boolean
}

/** The type of the objects of a kind. Every custom kind has metadata, whatever its schema says. */
export const ofKind = ({ custom, schema }: Schemed): Type => {
  if (!custom) return ofSchema(schema, false)
  const found = customKinds.get(schema)
  if (found !== undefined) return found
  const { map, ...rest } = ofSchema(schema, false)
  const made = map === undefined ? rest : { ...rest, map: withMetadata(map) }
  customKinds.set(schema, made)
  return made
}

/** The type of a member, whether the schema names it or not; of one that there may not be: anything. */
export const memberOf = (map: MapType, name: string): Type => map.fields.get(name)?.type ?? map.element ?? deduced

/** As what a value is taken: what it is, where it may be that, else the first that it may be. */
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

/** Whether nothing is known of an object: neither its members nor what they may be. */
export const isUnknown = ({ element, fields }: MapType): boolean =>
  fields.size === 0 && element !== undefined && (element === deduced || element.scalar === "untyped")

type Making = { -readonly [name in keyof Type]: Type[name] }

/** Anything, as one value. */
const atomic: Making = { scalar: "untyped" }
atomic.list = { element: atomic, atomic: true, keys: [] }
atomic.map = { fields: new Map(), element: atomic, atomic: true }

/** Anything: lists are one value, objects are taken apart. */
const deduced: Making = { scalar: "untyped", list: atomic.list }
deduced.map = { fields: new Map(), element: deduced, atomic: false }

const text: Type = { scalar: "string" }
const scalar: Type = { scalar: "untyped" }

const customKinds = new WeakMap<Schema, Type>()
const known = new WeakMap<Schema, Type>()
const knownPreserving = new WeakMap<Schema, Type>()

/** `preserving`: whether a schema around it keeps unknown fields, which those inside of it then do as well. */
const ofSchema = (schema: Schema, preserving: boolean): Type => {
  const definition = definitionOf(schema)
  if (definition === "io.k8s.apimachinery.pkg.api.resource.Quantity") return scalar
  if (definition === "io.k8s.apimachinery.pkg.runtime.RawExtension") return atomic
  const preserves = schema["x-kubernetes-preserve-unknown-fields"] === true || (preserving && definition === undefined)
  const cache = preserves ? knownPreserving : known
  const found = cache.get(schema)
  if (found !== undefined) return found
  const made: Making = {}
  // Known before it is complete: a schema may contain itself.
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

/** The keys that identify items: none in a set, undefined in an atomic list. */
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
