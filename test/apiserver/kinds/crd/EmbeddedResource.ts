/** Validates embedded resources (`x-kubernetes-embedded-resource`): apiVersion and kind are required, and metadata is valid. */

import * as FieldError from "../../model/FieldError.ts"
import * as Format from "../../model/Format.ts"
import * as Json from "../../model/Json.ts"
import * as ObjectMetaValidation from "../../model/ObjectMetaValidation.ts"
import type { Schema } from "../../model/Schema.ts"
import * as CustomObjectMeta from "./CustomObjectMeta.ts"
import { sorted } from "./Sorted.ts"
import * as StructuralSchema from "./StructuralSchema.ts"

/** Returns the errors of all embedded resources in a value. */
export const validate = (schema: Schema, value: Json.Json, path = ""): ReadonlyArray<FieldError.FieldError> =>
  judged(schema, value, path, ofResource)

type Judge = (resource: Json.JsonObject, path: string) => ReadonlyArray<FieldError.FieldError>

const judged = (schema: Schema, value: Json.Json, path: string, judge: Judge): ReadonlyArray<FieldError.FieldError> => {
  if (!hasEmbedded(schema)) return []
  if (Json.isList(value)) {
    const { items } = schema
    return items === undefined ? [] : value.flatMap((item, index) => judged(items, item, `${path}[${index}]`, judge))
  }
  if (!Json.isObject(value)) return []
  return [
    ...(schema["x-kubernetes-embedded-resource"] === true ? judge(value, path) : []),
    ...Object.entries(value).flatMap(([name, member = null]) => {
      const known = StructuralSchema.propertyOf(schema, name)
      if (known !== undefined) return judged(known, member, child(path, name), judge)
      const values = StructuralSchema.valuesOf(schema)
      return values === undefined ? [] : judged(values, member, `${path}[${name}]`, judge)
    })
  ]
}

/** Returns the first error of embedded metadata that Go cannot decode. The server cannot read such an object. */
export const unreadable = (schema: Schema, value: Json.Json): FieldError.FieldError | undefined =>
  judged(schema, value, "", ({ metadata }, path) => misread(metadata, child(path, "metadata")))[0]

const child = (path: string, name: string): string => (path === "" ? name : `${path}.${name}`)

const ofResource = (value: Json.JsonObject, path: string): ReadonlyArray<FieldError.FieldError> => [
  ...["apiVersion", "kind"]
    .filter((name) => value[name] === undefined)
    .map((name) => FieldError.required(child(path, name))),
  ...ofText(value.apiVersion, child(path, "apiVersion"), apiVersionProblem),
  ...ofText(value.kind, child(path, "kind"), kindProblem),
  ...ofMetadata(value.metadata, child(path, "metadata"))
]

const ofText = (
  value: Json.Json | undefined,
  path: string,
  problemOf: (text: string) => string | undefined
): ReadonlyArray<FieldError.FieldError> => {
  if (value === undefined) return []
  if (typeof value !== "string") return [FieldError.invalid(path, value, "must be a string")]
  const problem = value === "" ? "must not be empty" : problemOf(value)
  return problem === undefined ? [] : [FieldError.invalid(path, value, problem)]
}

const apiVersionProblem = (text: string): string | undefined =>
  text.split("/").length > 2 ? `unexpected GroupVersion string: ${text}` : undefined

const kindProblem = (text: string): string | undefined => {
  const problems = Format.dnsLabel1035(text.toLowerCase())
  return problems.length === 0 ? undefined : `may have mixed case, but should otherwise match: ${problems.join(",")}`
}

const ofMetadata = (value: Json.Json | undefined, path: string): ReadonlyArray<FieldError.FieldError> => {
  if (value === undefined) return []
  const wrong = misread(value, path)
  return wrong.length > 0 ? wrong : ObjectMetaValidation.validateEmbedded(Json.object(value), path)
}

const misread = (value: Json.Json | undefined, path: string): ReadonlyArray<FieldError.FieldError> => {
  const problem = value === undefined || value === null ? undefined : CustomObjectMeta.misread(value)
  return problem === undefined ? [] : [FieldError.invalid(path, sorted(value), problem)]
}

/** Whether a schema has embedded resources. The answer is cached for each schema. */
const hasEmbedded = (schema: Schema): boolean => {
  const known = embedding.get(schema)
  if (known !== undefined) return known
  const values = StructuralSchema.valuesOf(schema)
  const inside = [...Object.values(schema.properties ?? {}), ...(schema.items ? [schema.items] : [])]
  if (values !== undefined) inside.push(values)
  const found = schema["x-kubernetes-embedded-resource"] === true || inside.some(hasEmbedded)
  embedding.set(schema, found)
  return found
}

const embedding = new WeakMap<Schema, boolean>()
