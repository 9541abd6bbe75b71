/**
 * The internal (unversioned) form of a CRD. A schema, subresources, columns or selectable fields that all versions share are fields of
 * the spec. Errors name the fields of this form. They show values as Go's `encoding/json` writes structs without JSON names.
 */
import * as Json from "../../../model/Json.ts"

/** One version, or the fields that all versions share. */
export interface Version {
  readonly name: string
  readonly read: Json.JsonObject
  /** The validation of the version: `{ openAPIV3Schema }`. */
  readonly schema: Json.JsonObject | undefined
  readonly subresources: Json.JsonObject | undefined
  readonly columns: ReadonlyArray<Json.JsonObject>
  readonly selectableFields: ReadonlyArray<Json.JsonObject>
}

/** The spec of a CRD in the internal form. */
export interface Spec {
  readonly read: Json.JsonObject
  readonly group: string
  readonly names: Json.JsonObject
  readonly common: Version
  readonly versions: ReadonlyArray<Version>
}

/** Converts the spec of a CRD to the internal form. */
export const specOf = (crd: Json.JsonObject): Spec => {
  const read = Json.object(crd.spec)
  const versions = Json.objects(read.versions).map(versionOf)
  const [first = versionOf({})] = versions
  const same = (of: (version: Version) => Json.Json | undefined) =>
    versions.every((version) => Json.equal(of(version) ?? null, of(first) ?? null))
  const schema = same((version) => version.schema)
  const subresources = same((version) => version.subresources)
  const columns = same((version) => version.columns)
  const selectableFields = same((version) => version.selectableFields)
  const none = versionOf({})
  const pick = (version: Version, common: boolean): Version => ({
    ...version,
    schema: schema === common ? version.schema : none.schema,
    subresources: subresources === common ? version.subresources : none.subresources,
    columns: columns === common ? version.columns : none.columns,
    selectableFields: selectableFields === common ? version.selectableFields : none.selectableFields
  })
  return {
    read,
    group: Json.text(read.group) ?? "",
    names: Json.object(read.names),
    common: pick(first, true),
    versions: versions.map((version) => pick(version, false))
  }
}

/** Returns the schema of a version: its own schema, or the one that all versions share. */
export const schemaOf = (spec: Spec, version: Version): Json.JsonObject | undefined =>
  version.schema ?? spec.common.schema

/** Returns the `openAPIV3Schema` of a validation; undefined: the validation has none. */
export const openApi = (schema: Json.JsonObject | undefined): Json.JsonObject | undefined => {
  const read = schema?.openAPIV3Schema
  return Json.isObject(read) ? read : undefined
}

const versionOf = (read: Json.JsonObject): Version => ({
  name: Json.text(read.name) ?? "",
  read,
  schema: Json.isObject(read.schema) ? read.schema : undefined,
  subresources: Json.isObject(read.subresources) ? read.subresources : undefined,
  columns: Json.objects(read.additionalPrinterColumns),
  selectableFields: Json.objects(read.selectableFields)
})

/** Returns versions in the form in which errors show them. */
export const shownVersions = (versions: ReadonlyArray<Version>): ReadonlyArray<Json.Json> =>
  versions.map(({ columns, name, read, schema, selectableFields, subresources }) => ({
    Name: name,
    Served: read.served ?? false,
    Storage: read.storage ?? false,
    Deprecated: read.deprecated ?? false,
    DeprecationWarning: read.deprecationWarning ?? null,
    Schema: schema === undefined ? null : { OpenAPIV3Schema: shownSchemaOrNull(schema.openAPIV3Schema) },
    Subresources: subresources === undefined ? null : shownSubresources(subresources),
    AdditionalPrinterColumns: columns.length === 0 ? null : columns.map(shownColumn),
    SelectableFields:
      selectableFields.length === 0 ? null : selectableFields.map(({ jsonPath = "" }) => ({ JSONPath: jsonPath }))
  }))

const shownSubresources = ({ scale, status }: Json.JsonObject): Json.Json => ({
  Status: Json.isObject(status) ? {} : null,
  Scale: Json.isObject(scale)
    ? {
        SpecReplicasPath: scale.specReplicasPath ?? "",
        StatusReplicasPath: scale.statusReplicasPath ?? "",
        LabelSelectorPath: scale.labelSelectorPath ?? null
      }
    : null
})

const shownColumn = (column: Json.JsonObject): Json.Json => ({
  Name: column.name ?? "",
  Type: column.type ?? "",
  Format: column.format ?? "",
  Description: column.description ?? "",
  Priority: column.priority ?? 0,
  JSONPath: column.jsonPath ?? ""
})

const shownSchemaOrNull = (schema: Json.Json | undefined): Json.Json =>
  Json.isObject(schema) ? shownSchema(schema) : null

/** Returns a rule in the form in which errors show it. */
export const shownRule = (rule: Json.JsonObject): Json.Json => ({
  Rule: rule.rule ?? "",
  Message: rule.message ?? "",
  MessageExpression: rule.messageExpression ?? "",
  Reason: rule.reason ?? null,
  FieldPath: rule.fieldPath ?? "",
  OptionalOldSelf: rule.optionalOldSelf ?? null
})

/** Returns a schema in the form in which errors show it. */
export const shownSchema = (schema: Json.JsonObject): Json.Json => {
  const text = (name: string) => schema[name] ?? ""
  const flag = (name: string) => schema[name] ?? false
  const any = (name: string) => schema[name] ?? null
  const list = (name: string) =>
    Json.list(schema[name]).length === 0 ? null : Json.list(schema[name]).map(shownSchemaOrNull)
  const map = (name: string) =>
    Json.isObject(schema[name])
      ? Object.fromEntries(
          Object.keys(schema[name])
            .sort()
            .map((key) => [key, shownSchemaOrNull(Json.object(schema[name])[key])])
        )
      : null
  const orBool = (name: string): Json.Json => {
    const value = schema[name]
    if (value === undefined || value === null) return null
    return Json.isObject(value)
      ? { Allows: true, Schema: shownSchema(value) }
      : { Allows: value === true, Schema: null }
  }
  const rules = Json.objects(schema["x-kubernetes-validations"])
  return {
    ID: text("id"),
    Schema: text("$schema"),
    Ref: any("$ref"),
    Description: text("description"),
    Type: text("type"),
    Nullable: flag("nullable"),
    Format: text("format"),
    Title: text("title"),
    Default: any("default"),
    Maximum: any("maximum"),
    ExclusiveMaximum: flag("exclusiveMaximum"),
    Minimum: any("minimum"),
    ExclusiveMinimum: flag("exclusiveMinimum"),
    MaxLength: any("maxLength"),
    MinLength: any("minLength"),
    Pattern: text("pattern"),
    MaxItems: any("maxItems"),
    MinItems: any("minItems"),
    UniqueItems: flag("uniqueItems"),
    MultipleOf: any("multipleOf"),
    Enum: any("enum"),
    MaxProperties: any("maxProperties"),
    MinProperties: any("minProperties"),
    Required: any("required"),
    Items: shownItems(schema.items),
    AllOf: list("allOf"),
    OneOf: list("oneOf"),
    AnyOf: list("anyOf"),
    Not: shownSchemaOrNull(schema.not),
    Properties: map("properties"),
    AdditionalProperties: orBool("additionalProperties"),
    PatternProperties: map("patternProperties"),
    Dependencies: any("dependencies"),
    AdditionalItems: orBool("additionalItems"),
    Definitions: map("definitions"),
    ExternalDocs: any("externalDocs"),
    Example: any("example"),
    XPreserveUnknownFields: any("x-kubernetes-preserve-unknown-fields"),
    XEmbeddedResource: flag("x-kubernetes-embedded-resource"),
    XIntOrString: flag("x-kubernetes-int-or-string"),
    XListMapKeys: any("x-kubernetes-list-map-keys"),
    XListType: any("x-kubernetes-list-type"),
    XMapType: any("x-kubernetes-map-type"),
    XValidations: rules.length === 0 ? null : rules.map(shownRule)
  }
}

/** Returns `items` in the form in which errors show it: one schema, or a list of schemas, which the validation rejects. */
export const shownItems = (items: Json.Json | undefined): Json.Json => {
  if (items === undefined || items === null) return null
  return Json.isList(items)
    ? { Schema: null, JSONSchemas: items.map(shownSchemaOrNull) }
    : { Schema: shownSchemaOrNull(items), JSONSchemas: null }
}
