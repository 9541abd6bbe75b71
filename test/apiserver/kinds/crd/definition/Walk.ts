/** Walks the schemas inside a schema. */
import * as Json from "../../../model/Json.ts"

/** Yields the schema itself and all schemas inside it, also those in members that a CRD must not set. */
export function* schemas(value: Json.Json | undefined): Iterable<Json.JsonObject> {
  if (!Json.isObject(value)) return
  yield value
  yield* schemas(value.items)
  for (const item of Json.list(value.items)) yield* schemas(item)
  for (const name of ["allOf", "anyOf", "oneOf"]) for (const one of Json.list(value[name])) yield* schemas(one)
  for (const name of ["not", "additionalProperties", "additionalItems"]) yield* schemas(value[name])
  for (const name of ["properties", "patternProperties", "definitions", "dependencies"]) {
    for (const one of Object.values(Json.object(value[name]))) yield* schemas(one)
  }
}
