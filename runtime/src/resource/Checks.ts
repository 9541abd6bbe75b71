/** Translates the checks of Effect's schemas to bounds that the API server knows. */
import type * as AST from "effect/SchemaAST"
import * as Exact from "./Exact.ts"

/** The type of the checked value in a CRD. */
type Type = "string" | "integer" | "number" | "boolean" | "object" | "array" | undefined

/** A value of a check's description, such as the bound of `Schema.isMaxLength`. */
const payloadOf = (payload: unknown, key: string): unknown =>
  typeof payload === "object" && payload !== null ? Reflect.get(payload, key) : undefined

const lengths = (type: Type, least: unknown, most: unknown): object => {
  const [min, max] = type === "array" ? ["minItems", "maxItems"] : ["minLength", "maxLength"]
  return { ...(least === undefined ? {} : { [min]: least }), ...(most === undefined ? {} : { [max]: most }) }
}

/**
 * The bounds of one check, as a part of a JSON Schema. A pattern of JavaScript is a RegExp. Undefined if the API server has no words
 * for the check.
 *
 * Effect counts UTF-16 units, and its own JSON Schemas allow the most code points that can have so many units. The bounds here are the
 * numbers that the author wrote.
 */
export const boundsOf = (check: AST.Check<unknown>, type: Type): object | undefined => {
  const { representation, toJsonSchema } = check.annotations ?? {}
  const of = (key: string): unknown => payloadOf(representation?.payload, key)
  switch (representation?.id) {
    case "effect/schema/isInt":
      return { type: "integer" }
    case "effect/schema/isFinite":
    case Exact.id:
      return {}
    case "effect/schema/isMinLength":
      return lengths(type, of("minLength"), undefined)
    case "effect/schema/isMaxLength":
      return lengths(type, undefined, of("maxLength"))
    case "effect/schema/isBetweenLength":
      return lengths(type, of("minimum"), of("maximum"))
    case "effect/schema/isBetweenCodePoints":
      return { minLength: of("minimum"), maxLength: of("maximum") }
    case "effect/schema/isPattern":
      return { pattern: new RegExp(String(of("source")), String(of("flags"))) }
  }
  // Effect writes `[{}, true]` for a check that JSON Schema cannot express.
  const stated = toJsonSchema?.({ type, schemas: [] })
  const bounds = Array.isArray(stated) ? stated[0] : stated
  return bounds === undefined || Object.keys(bounds).length === 0 ? undefined : bounds
}
