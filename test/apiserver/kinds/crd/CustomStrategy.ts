/**
 * The strategies of custom resources. A status subresource keeps writes of the status and of the rest apart. `metadata.generation`
 * counts changes outside of metadata. The validation checks the schema, the list types and the CEL rules, in kube-apiserver's order.
 */
import * as FieldError from "../../model/FieldError.ts"
import * as Json from "../../model/Json.ts"
import type { Scale, Strategy, Writing } from "../../model/Kind.ts"
import type { Schema } from "../../model/Schema.ts"
import type { Rules } from "../cel/Rules.ts"
import { Correlation } from "./Correlation.ts"
import * as Defaults from "./Defaults.ts"
import * as EmbeddedResource from "./EmbeddedResource.ts"
import * as ListTypes from "./ListTypes.ts"
import * as Validation from "./Validation.ts"

/** The declarations of one version of a CRD. */
export interface Declared {
  readonly apiVersion: string
  readonly kind: string
  readonly schema: Schema
  readonly rules: Rules
  /** Whether the version has a status subresource. */
  readonly status: boolean
  readonly scale: Scale | undefined
}

/** Returns the strategy of the main resource, without subresources. */
export const main = (declared: Declared): Strategy => ({
  default: (draft) => Defaults.fill(draft, declared.schema),
  prepareForCreate: (draft) => {
    if (declared.status) delete draft.status
    Json.member(draft, "metadata").generation = 1
  },
  prepareForUpdate: (draft, old) => {
    if (declared.status) {
      if (old.status === undefined) delete draft.status
      else draft.status = Json.copy(old.status)
    }
    if (sameBesidesMetadata(draft, old)) return
    Json.member(draft, "metadata").generation = (Json.number(Json.at(old, "metadata", "generation")) ?? 0) + 1
  },
  validate: (object, writing, found) => {
    const errors = withRules(declared, object, undefined, { writing, found }, [
      ...ofKind(declared, object, () => [
        ...Validation.validate(declared.schema, object),
        ...ofScale(declared.scale, object, { spec: true })
      ]),
      ...EmbeddedResource.validate(declared.schema, object),
      ...ListTypes.duplicates(declared.schema, object)
    ])
    if (errors.length === 0) warnOfFinalizers(object, undefined, writing)
    return errors
  },
  validateUpdate: (object, old, writing, found) => {
    const before = new Correlation(object, old, declared.schema)
    const errors = withRules(declared, object, { old, before }, { writing, found }, [
      ...ofKind(declared, object, () => [
        ...Validation.validate(declared.schema, object, { before }),
        ...ofScale(declared.scale, object, { spec: true })
      ]),
      ...EmbeddedResource.validate(declared.schema, object),
      ...newDuplicates(declared.schema, object, old)
    ])
    if (errors.length === 0) warnOfFinalizers(object, old, writing)
    return errors
  },
  resetFields: declared.status ? [["status"]] : []
})

/** Returns the strategy of `/status`, which takes only `status` and `managedFields` from the request. */
export const status = (declared: Declared): Strategy => ({
  ...main(declared),
  prepareForUpdate: (draft, old) => {
    const { status } = draft
    const managedFields = Json.at(draft, "metadata", "managedFields")
    for (const name of Object.keys(draft)) delete draft[name]
    Object.assign(draft, Json.copy(old))
    const metadata = Json.member(draft, "metadata")
    if (managedFields === undefined) delete metadata.managedFields
    else metadata.managedFields = Json.copy(managedFields)
    if (status === undefined) delete draft.status
    else draft.status = status
  },
  validateUpdate: (object, old, writing, found) => {
    const before = new Correlation(object, old, declared.schema)
    return withRules(declared, object, { old, before }, { writing, found }, [
      ...ofKind(declared, object, () => [
        ...ofStatus(declared.schema, object, before),
        ...ofScale(declared.scale, object, { spec: false })
      ]),
      ...newDuplicates(declared.schema, object, old)
    ])
  },
  resetFields: [["metadata"], ["spec"]]
})

interface Before {
  readonly old: Json.JsonObject
  readonly before: Correlation
}

const ofStatus = (
  schema: Schema,
  object: Json.JsonObject,
  before: Correlation
): ReadonlyArray<FieldError.FieldError> => {
  const known = schema.properties?.status
  if (known === undefined || object.status === undefined) return []
  // A missing old status counts as null, so a new status of null counts as unchanged.
  const ofOld = before.key("status") ?? new Correlation(object.status, null, known)
  return Validation.validate(known, object.status, { within: "status", before: ofOld })
}

const newDuplicates = (
  schema: Schema,
  object: Json.JsonObject,
  old: Json.JsonObject
): ReadonlyArray<FieldError.FieldError> =>
  ListTypes.duplicates(schema, old).length > 0 ? [] : ListTypes.duplicates(schema, object)

const sameBesidesMetadata = (one: Json.JsonObject, other: Json.JsonObject): boolean =>
  Json.equal({ ...one, metadata: null }, { ...other, metadata: null })

const ofKind = (
  { apiVersion, kind }: Declared,
  object: Json.JsonObject,
  others: () => ReadonlyArray<FieldError.FieldError>
): ReadonlyArray<FieldError.FieldError> => {
  const wrong = [
    ...(object.kind === kind ? [] : [FieldError.invalid("kind", object.kind ?? "", `must be ${kind}`)]),
    ...(object.apiVersion === apiVersion
      ? []
      : [FieldError.invalid("apiVersion", object.apiVersion ?? "", `must be ${apiVersion}`)])
  ]
  return wrong.length > 0 ? wrong : others()
}

/** After one of these errors, the strategies do not evaluate the rules, because their results might be wrong. */
const blocking: ReadonlySet<FieldError.Reason> = new Set([
  "FieldValueNotSupported",
  "FieldValueRequired",
  "FieldValueTooLong",
  "FieldValueTooMany",
  "FieldValueTypeInvalid"
])

const withRules = (
  { rules }: Declared,
  object: Json.JsonObject,
  before: Before | undefined,
  {
    found = [],
    writing
  }: { readonly writing: Writing; readonly found: ReadonlyArray<FieldError.FieldError> | undefined },
  errors: ReadonlyArray<FieldError.FieldError>
): ReadonlyArray<FieldError.FieldError> => {
  if (rules.none) return errors
  if ([...found, ...errors].some(({ reason }) => blocking.has(reason))) return [...errors, notChecked]
  return [
    ...errors,
    ...rules.check(object, before?.old, { before: before?.before, warn: writing.warnAlways ?? writing.warn })
  ]
}

const notChecked = FieldError.make(
  "FieldValueInvalid",
  undefined,
  null,
  "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation"
)

const ofScale = (
  scale: Scale | undefined,
  object: Json.JsonObject,
  { spec }: { readonly spec: boolean }
): ReadonlyArray<FieldError.FieldError> => {
  if (scale === undefined) return []
  return [
    ...(spec ? ofReplicas(object, scale.specReplicas) : []),
    ...ofReplicas(object, scale.statusReplicas),
    ...(scale.selector === undefined ? [] : ofSelector(object, scale.selector))
  ]
}

const ofReplicas = (object: Json.JsonObject, path: ReadonlyArray<string>): ReadonlyArray<FieldError.FieldError> => {
  const field = `.${path.join(".")}`
  const found = accessed(object, path, "int64")
  if ("problem" in found) return [FieldError.invalid(field, 0, found.problem)]
  const value = Json.number(found.value) ?? 0
  if (value < 0) return [FieldError.invalid(field, value, "should be a non-negative integer")]
  return value > 2 ** 31 - 1 ? [FieldError.invalid(field, value, "should be less than or equal to 2147483647")] : []
}

const ofSelector = (object: Json.JsonObject, path: ReadonlyArray<string>): ReadonlyArray<FieldError.FieldError> => {
  const found = accessed(object, path, "string")
  return "problem" in found ? [FieldError.invalid(`.${path.join(".")}`, "", found.problem)] : []
}

/** Returns the value at a path. For a value of another type, returns the error of Go's accessors for unstructured objects. */
const accessed = (
  object: Json.JsonObject,
  path: ReadonlyArray<string>,
  wanted: "int64" | "string"
): { readonly value: Json.Json | undefined } | { readonly problem: string } => {
  let here: Json.Json | undefined = object
  for (const [index, name] of path.entries()) {
    if (here === undefined || here === null) return { value: undefined }
    if (!Json.isObject(here)) {
      return {
        problem: `.${path.slice(0, index + 1).join(".")} accessor error: ${shown(here)}, expected map[string]interface{}`
      }
    }
    here = Json.at(here, name)
  }
  if (here === undefined || goType(here) === wanted) return { value: here }
  return { problem: `.${path.join(".")} accessor error: ${shown(here)}, expected ${wanted}` }
}

const shown = (value: Json.Json): string => `${printed(value)} is of the type ${goType(value)}`

/** Prints a value as Go does: `map[a:1 b:[2 3]]`. */
const printed = (value: Json.Json): string => {
  if (value === null) return "<nil>"
  if (Json.isList(value)) return `[${value.map(printed).join(" ")}]`
  if (!Json.isObject(value)) return String(value)
  const members = Object.keys(value).sort()
  return `map[${members.map((name) => `${name}:${printed(value[name] ?? null)}`).join(" ")}]`
}

const goType = (value: Json.Json): string => {
  if (value === null) return "<nil>"
  if (Json.isList(value)) return "[]interface {}"
  if (typeof value === "object") return "map[string]interface {}"
  if (typeof value === "number") return Number.isInteger(value) ? "int64" : "float64"
  return typeof value === "boolean" ? "bool" : "string"
}

const standardFinalizers: ReadonlySet<string> = new Set(["orphan", "foregroundDeletion", "kubernetes"])

/** Warns about each new finalizer whose name lacks a domain or a path. */
const warnOfFinalizers = (object: Json.JsonObject, old: Json.JsonObject | undefined, { warn }: Writing): void => {
  const known = new Set(Json.list(Json.at(old, "metadata", "finalizers")))
  const added = Json.list(Json.at(object, "metadata", "finalizers")).filter((one) => !known.has(one))
  for (const name of new Set(added.filter((one) => typeof one === "string").sort())) {
    if (name.includes("/") || standardFinalizers.has(name)) continue
    const how = name.includes(".")
      ? "a domain-qualified finalizer name including a path (/)"
      : "a domain-qualified finalizer name"
    warn(
      `metadata.finalizers: ${JSON.stringify(name)}: prefer ${how} to avoid accidental conflicts with other finalizer writers`
    )
  }
}
