/** Values in the order in which Go writes the members of a map. */
import * as Json from "../../model/Json.ts"

/** With its members in the order in which Go writes them. */
export const sorted = (value: Json.Json | undefined): Json.Json => {
  if (Json.isList(value)) return value.map(sorted)
  if (!Json.isObject(value)) return value ?? null
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((name) => [name, sorted(value[name])])
  )
}
