/**
 * What there is before there is an object: where a new object of a kind begins. A built-in kind begins with what its Go type always
 * has, a custom one with nothing but its names. Who creates an object owns what differs from this.
 */
import type { DraftObject, Json, JsonObject } from "../Json.ts"
import * as J from "../Json.ts"
import { apiVersionOf, type Kind } from "../Kind.ts"
import type { Schema } from "../Schema.ts"

/** The object of a kind before anything is said about it. */
export const ofKind = (kind: Pick<Kind, "group" | "version" | "kind" | "schema" | "custom">): JsonObject => {
  const names = { apiVersion: apiVersionOf(kind), kind: kind.kind }
  return kind.custom ? names : { ...J.object(zeroOf(kind.schema)), ...names }
}

const zeroOf = (schema: Schema): Json => {
  const found = zeros.get(schema)
  if (found !== undefined) return found
  const made: DraftObject = {}
  zeros.set(schema, made)
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    // A struct that is not behind a pointer is published with this default; and what is never omitted, as required.
    if (isStruct(property)) made[name] = J.copy(zeroOf(property))
    else if (schema.required?.includes(name)) made[name] = scalarZero(property)
  }
  return made
}

const isStruct = ({ default: value }: Schema): boolean => J.isObject(value) && J.isEmpty(value)

const scalarZero = ({ default: value }: Schema): string | number | boolean | null => {
  switch (typeof value) {
    case "string":
      return ""
    case "number":
      return 0
    case "boolean":
      return false
    default:
      return null
  }
}

const zeros = new WeakMap<Schema, JsonObject>()
