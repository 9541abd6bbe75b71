/**
 * How Go prints the values of an unstructured object: the messages of server-side apply show them so.
 */
import type { Json } from "../Json.ts"
import * as J from "../Json.ts"

/** `%T`: the name of the type. */
export const typeName = (value: Json): string => {
  if (value === null) return "<nil>"
  switch (typeof value) {
    case "string":
      return "string"
    case "boolean":
      return "bool"
    case "number":
      return Number.isInteger(value) ? "int64" : "float64"
    default:
      return J.isList(value) ? "[]interface {}" : "map[string]interface {}"
  }
}

/** `%#v`: as it is written in a program. */
export const source = (value: Json): string => {
  if (value === null) return "interface {}(nil)"
  if (J.isList(value)) return `[]interface {}{${value.map(source).join(", ")}}`
  if (J.isObject(value)) {
    const members = membersOf(value).map(([name, member]) => `${JSON.stringify(name)}:${source(member)}`)
    return `map[string]interface {}{${members.join(", ")}}`
  }
  return JSON.stringify(value)
}

const membersOf = (value: J.JsonObject): ReadonlyArray<readonly [string, Json]> =>
  Object.keys(value)
    .sort()
    .flatMap((name) => {
      const member = value[name]
      return member === undefined ? [] : [[name, member] as const]
    })
