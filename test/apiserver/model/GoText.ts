/**
 * Formats values as Go does.
 */
import * as Json from "./Json.ts"

/** Encodes JSON with `<`, `>`, `&` escaped and the members in their own order, as Go encodes a struct. */
export const unsorted = (value: Json.Json): string => JSON.stringify(value).replace(/[<>&\u2028\u2029]/g, escaped)

/** Encodes JSON with `<`, `>`, `&` escaped and the members sorted, as Go encodes a map. */
export const json = (value: Json.Json): string => {
  if (Json.isList(value)) return `[${value.map(json).join(",")}]`
  if (!Json.isObject(value)) return unsorted(value)
  return `{${members(value)
    .map(([name, member]) => `${json(name)}:${json(member)}`)
    .join(",")}}`
}

/** Formats a number. A 64-bit integer has all digits. Other numbers have an exponent if it is above 5 or below -4. */
export const number = (value: number): string => {
  if (Number.isInteger(value) && Math.abs(value) < 2 ** 63) return BigInt(value).toString()
  const [, exponent = "0"] = value.toExponential().split("e")
  if (Number(exponent) >= -4 && Number(exponent) < 6) return String(value)
  return value.toExponential().replace(/e([+-])(\d)$/, "e$10$2")
}

/** Formats a value like `%v`: `map[a:1 b:[x y]]`. */
export const plain = (value: Json.Json): string => {
  if (Json.isList(value)) return `[${value.map(plain).join(" ")}]`
  if (Json.isObject(value)) {
    return `map[${members(value)
      .map(([name, member]) => `${name}:${plain(member)}`)
      .join(" ")}]`
  }
  if (value === null) return "<nil>"
  return typeof value === "number" ? number(value) : String(value)
}

/** Returns the type name of a value in an unstructured object, like `%T`. */
export const typeName = (value: Json.Json): string => {
  if (value === null) return "<nil>"
  switch (typeof value) {
    case "string":
      return "string"
    case "boolean":
      return "bool"
    case "number":
      return Number.isInteger(value) ? "int64" : "float64"
    default:
      return Json.isList(value) ? "[]interface {}" : "map[string]interface {}"
  }
}

/** Formats a value as Go source, like `%#v`. */
export const source = (value: Json.Json): string => {
  if (value === null) return "interface {}(nil)"
  if (Json.isList(value)) return `[]interface {}{${value.map(source).join(", ")}}`
  if (!Json.isObject(value)) return JSON.stringify(value)
  return `map[string]interface {}{${members(value)
    .map(([name, member]) => `${JSON.stringify(name)}:${source(member)}`)
    .join(", ")}}`
}

const members = (value: Json.JsonObject): ReadonlyArray<readonly [name: string, member: Json.Json]> =>
  Object.keys(value)
    .sort()
    .flatMap((name) => {
      const member = value[name]
      return member === undefined ? [] : [[name, member] as const]
    })

const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`
