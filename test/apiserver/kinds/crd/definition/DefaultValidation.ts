/** Whether the defaults of a schema are values that it would let in. */
import * as FieldError from "../../../model/FieldError.ts"
import type * as Json from "../../../model/Json.ts"
import type { Schema } from "../../../model/Schema.ts"
import * as Rules from "../../cel/Rules.ts"
import * as EmbeddedResource from "../EmbeddedResource.ts"
import * as Prune from "../Pruning.ts"
import * as Validation from "../Validation.ts"

/** What is wrong with the defaults in a schema. Below `additionalProperties` there are none. */
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
  // A default may come where there was nothing before, too.
  return [...unknown, ...kept, ...(kept.length > 0 ? [] : rules.check(value, undefined, { path }))]
}
