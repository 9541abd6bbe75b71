/**
 * Fills in the defaults of a schema. A default replaces a missing member, or a null in a member that is not nullable. Missing objects
 * get their members' defaults only if they have a default themselves.
 */
import * as Json from "../../model/Json.ts"
import type { Schema } from "../../model/Schema.ts"
import * as StructuralSchema from "./StructuralSchema.ts"

/** Fills in the defaults of a schema, in place. */
export const fill = (value: Json.Draft, schema: Schema | undefined): void => {
  if (schema === undefined || typeof value !== "object" || value === null || !hasDefaults(schema)) return
  if (Array.isArray(value)) {
    value.forEach((item, index) => {
      if (isNullInPlaceOfValue(item, schema.items)) value[index] = defaultOf(schema.items) ?? null
      fill(value[index] ?? null, schema.items)
    })
    return
  }
  for (const name in schema.properties) {
    const member = schema.properties[name]
    const made = defaultOf(member)
    if (made === undefined) continue
    if (value[name] === undefined || isNullInPlaceOfValue(value[name], member)) value[name] = made
  }
  for (const name of Object.keys(value)) {
    const known = StructuralSchema.memberOf(schema, name)
    if (isNullInPlaceOfValue(value[name], known)) value[name] = defaultOf(known) ?? null
    fill(value[name] ?? null, known)
  }
}

const isNullInPlaceOfValue = (value: Json.Json | undefined, schema: Schema | undefined): boolean =>
  value === null && schema !== undefined && schema.nullable !== true

const defaultOf = (schema: Schema | undefined): Json.Draft | undefined =>
  schema?.default === undefined ? undefined : Json.copy(schema.default)

/** Whether a schema has defaults inside it. The answer is cached for each schema. */
const hasDefaults = (schema: Schema): boolean => {
  const known = defaulting.get(schema)
  if (known !== undefined) return known
  const values = StructuralSchema.valuesOf(schema)
  const inside = [...Object.values(schema.properties ?? {}), ...(schema.items ? [schema.items] : [])]
  if (values !== undefined) inside.push(values)
  const found = inside.some((one) => one.default !== undefined || hasDefaults(one))
  defaulting.set(schema, found)
  return found
}

const defaulting = new WeakMap<Schema, boolean>()
