/** JSON values with sorted members, as Go encodes a map. */
import * as Json from "../../model/Json.ts"

/** Returns a copy of a value in which the members of all objects are sorted by name. */
export const sorted = (value: Json.Json | undefined): Json.Json => {
  if (Json.isList(value)) return value.map(sorted)
  if (!Json.isObject(value)) return value ?? null
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((name) => [name, sorted(value[name])])
  )
}
