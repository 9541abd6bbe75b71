/** Validates the defaults of a schema against the schema itself. */
import * as FieldError from "../../../model/FieldError.ts"
import type * as Json from "../../../model/Json.ts"
import type { Schema } from "../../../model/Schema.ts"
import * as Rules from "../../cel/Rules.ts"
import * as EmbeddedResource from "../EmbeddedResource.ts"
import * as Prune from "../Pruning.ts"
import * as Validation from "../Validation.ts"

/** Returns the errors of the defaults in a schema. It ignores defaults below `additionalProperties`. */
export const validate = (schema: Schema, path: string): ReadonlyArray<FieldError.FieldError> => [
  ...(schema.default === undefined ? [] : ofDefault(schema, schema.default, `${path}.default`)),
  ...(schema.items === undefined ? [] : validate(schema.items, `${path}.items`)),
  ...Object.entries(schema.properties ?? {}).flatMap(([name, property]) =>
    validate(property, `${path}.properties[${name}]`)
  )
]

const ofDefault = (schema: Schema, value: Json.Json, path: string): ReadonlyArray<FieldError.FieldError> => {
  const unknown = Prune.isPruned(schema, value) ? [] : [FieldError.invalid(path, value, "must not have unknown fields")]
  const embedded = EmbeddedResource.validate(schema, value, path)
  if (embedded.length > 0) return [...unknown, ...embedded]
  const invalid = Validation.validate(schema, value, { within: path })
  if (invalid.length > 0) return [...unknown, ...invalid]
  const rules = Rules.compile(schema, { root: false })
  const kept = rules.check(value, value, { path })
  // A default can also fill in a member that the old object did not have.
  return [...unknown, ...kept, ...(kept.length > 0 ? [] : rules.check(value, undefined, { path }))]
}
