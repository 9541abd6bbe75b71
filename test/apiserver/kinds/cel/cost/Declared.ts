/** The sizes that a schema allows for lists, maps and strings, and for their parts. */
import type { Schema } from "../../../model/Schema.ts"
import * as StructuralSchema from "../../crd/StructuralSchema.ts"
import { identifier } from "../DeclTypes.ts"
import type { Size } from "./Size.ts"

/** The largest request that a kube-apiserver accepts, in bytes. */
const maxRequestBytes = 3 * 1024 * 1024

/** The sizes of the values of a schema. */
export interface Declared {
  /** The greatest number of items, entries or characters; 0 for other types. */
  readonly maxElements: number
  /** The smallest size in JSON, in bytes. */
  readonly minBytes: number
  readonly fields?: ReadonlyMap<string, Declared>
  readonly elements?: Declared
  readonly keys?: Declared
}

const simple = (minBytes: number, maxElements = 0): Declared => ({ minBytes, maxElements })

const nonNegative = (value: number): number => Math.max(0, value)

const longest = maxRequestBytes - 2

const string: Declared = simple(2, longest)

/** The type of map keys, which no schema limits. */
const key: Declared = simple(2)

const stringOf = ({ enum: values = [], format, maxLength }: Schema): Declared => {
  if (format === "byte") return simple(2, maxLength === undefined ? longest : nonNegative(maxLength))
  if (format === "duration") return simple(3, 32)
  if (format === "date") return simple(12, 12)
  if (format === "date-time") return simple(21, 32)
  if (maxLength !== undefined) return simple(2, nonNegative(maxLength) * 4)
  if (values.length === 0) return string
  return simple(2, Math.max(0, ...values.map((value) => (typeof value === "string" ? Buffer.byteLength(value) : 0))))
}

/** The greatest length of a resource's name, in characters. */
const longestName = 253

/**
 * Returns the fields that each resource has, even if its schema does not declare them. Returns an empty list if the schema declares
 * all of them.
 */
const rootFields = ({ properties = {} }: Schema): ReadonlyArray<readonly [string, Declared]> => {
  const { apiVersion, kind, metadata } = properties
  const names = metadata?.properties ?? {}
  const texts = [kind, apiVersion, names.name, names.generateName]
  if (texts.every((schema) => schema?.type === "string") && metadata?.type === "object") return []
  const name = (schema: Schema | undefined, most: number) =>
    simple(2, nonNegative(Math.min(schema?.maxLength ?? most, most)) * 4)
  const fields = new Map([
    ["name", name(names.name, longestName)],
    ["generateName", name(names.generateName, longestName - 1)]
  ])
  return [
    ["apiVersion", string],
    ["kind", string],
    ["metadata", { ...simple(2), fields }]
  ]
}

const objectOf = (schema: Schema, root: boolean): Declared => {
  const fields = new Map<string, Declared>()
  let minBytes = 2
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const field = of(property)
    if (field === undefined) continue
    const escaped = identifier(name)
    if (escaped !== undefined) fields.set(escaped, field)
    if (schema.required?.includes(name) === true && property.default === undefined) {
      minBytes += Buffer.byteLength(name) + field.minBytes + 4
    }
  }
  if (root) for (const [name, field] of rootFields(schema)) fields.set(name, field)
  return { ...simple(minBytes), fields }
}

/** Returns the sizes of a schema; undefined: rules cannot read such values. */
export const of = (schema: Schema, root = schema["x-kubernetes-embedded-resource"] === true): Declared | undefined => {
  const { items, maxItems, maxLength, maxProperties, type } = schema
  if (schema["x-kubernetes-int-or-string"] === true) {
    return simple(1, maxLength === undefined ? longest : nonNegative(maxLength) * 4)
  }
  switch (root ? "object" : type) {
    case "array": {
      const elements = items === undefined ? undefined : of(items)
      if (elements === undefined) return undefined
      const most = Math.floor((maxRequestBytes - 2) / (elements.minBytes + 1))
      return { ...simple(2, maxItems === undefined ? most : nonNegative(maxItems)), elements }
    }
    case "object": {
      const values = StructuralSchema.valuesOf(schema)
      if (root || values === undefined) return objectOf(schema, root)
      const elements = of(values)
      if (elements === undefined) return undefined
      const most = Math.floor((maxRequestBytes - 2) / (elements.minBytes + 6))
      return { ...simple(2, maxProperties === undefined ? most : nonNegative(maxProperties)), elements, keys: key }
    }
    case "string":
      return stringOf(schema)
    case "boolean":
      return simple(4)
    case "integer":
    case "number":
      return simple(1)
    default:
      return undefined
  }
}

/** Returns the greatest number of values of a type that fit into a request. */
export const cardinality = ({ minBytes }: Declared): number => Math.floor(maxRequestBytes / (minBytes + 1))

/** Returns the size of the value at a path, whose first name is a variable of type `root`; undefined: the schema has no such path. */
export const sizeAt = (root: Declared, path: ReadonlyArray<string>): Size | undefined => {
  if (path.length === 0) return undefined
  let at: Declared | undefined = root
  for (const name of path.slice(1)) {
    if (name === "@items" || name === "@values") at = at.elements
    else if (name === "@keys") at = at.keys
    else at = at.fields?.get(name)
    if (at === undefined) return undefined
  }
  return { min: 0, max: at.maxElements }
}
