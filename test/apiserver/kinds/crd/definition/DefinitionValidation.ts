/** Validates a CustomResourceDefinition, with the messages of apiextensions-apiserver. */

import * as FieldError from "../../../model/FieldError.ts"
import * as Format from "../../../model/Format.ts"
import * as Json from "../../../model/Json.ts"
import { Types } from "../../cel/DeclTypes.ts"
import * as Expression from "../../cel/Expression.ts"
import * as StructuralSchema from "../StructuralSchema.ts"
import * as ConversionValidation from "./ConversionValidation.ts"
import * as DefaultValidation from "./DefaultValidation.ts"
import * as Internal from "./Internal.ts"
import * as OpenApi from "./SchemaValidation.ts"
import * as Structural from "./Structural.ts"
import * as ViewValidation from "./ViewValidation.ts"
import * as Walk from "./Walk.ts"

type Errors = ReadonlyArray<FieldError.FieldError>

/** Returns the errors of a new CRD. */
export const validate = (crd: Json.JsonObject): Errors => {
  const spec = Internal.specOf(crd)
  const name = Json.text(Json.at(crd, "metadata", "name")) ?? ""
  const wanted = `${Json.text(spec.names.plural) ?? ""}.${spec.group}`
  return [
    ...(name === wanted || name === ""
      ? []
      : [FieldError.invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group')]),
    ...ofSpec(spec),
    ...ofStored(crd, spec),
    ...ofApproval(crd, spec, undefined),
    ...(spec.read.preserveUnknownFields === true
      ? [FieldError.invalid("spec.preserveUnknownFields", true, preserve)]
      : [])
  ]
}

/** Returns the errors of an updated CRD, compared with the old one. */
export const validateUpdate = (crd: Json.JsonObject, old: Json.JsonObject): Errors => {
  const spec = Internal.specOf(crd)
  const before = Internal.specOf(old)
  const isEstablished = Json.objects(Json.at(old, "status", "conditions")).some(
    ({ status, type }) => type === "Established" && status === "True"
  )
  const immutable = (path: string, now: Json.Json | undefined, then: Json.Json | undefined) =>
    now === then ? [] : [FieldError.invalid(path, now, "field is immutable")]
  return [
    ...ofSpec(spec, before),
    ...(isEstablished
      ? [
          ...immutable("spec.scope", spec.read.scope, before.read.scope),
          ...immutable("spec.names.kind", spec.names.kind, before.names.kind)
        ]
      : []),
    ...immutable("spec.group", spec.group, before.group),
    ...immutable("spec.names.plural", spec.names.plural, before.names.plural),
    ...ofStored(crd, spec),
    ...ofApproval(crd, spec, old),
    ...(spec.read.preserveUnknownFields === true && before.read.preserveUnknownFields !== true
      ? [FieldError.invalid("spec.preserveUnknownFields", true, preserve)]
      : [])
  ]
}

const preserve =
  "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"

const ofSpec = (spec: Internal.Spec, before?: Internal.Spec): Errors => [
  ...ofGroup(spec.group),
  ...oneOf("spec.scope", Json.text(spec.read.scope) ?? "", ["Cluster", "Namespaced"]),
  ...ofMissingSchemas(spec),
  ...ofPreserving(spec),
  ...spec.versions.flatMap((version, index) =>
    ofVersion(version, spec, `spec.versions[${index}]`, isUnchanged(spec, before, version))
  ),
  ...ofVersions(spec),
  ...ofFirstVersion(spec),
  ...["plural", "singular", "kind", "listKind"]
    .filter((name) => (Json.text(spec.names[name]) ?? "") === "")
    .map((name) => FieldError.required(`spec.names.${name}`)),
  ...ofNames(spec.names, "spec.names"),
  ...ofSchema(
    spec.common.schema,
    spec.versions.some((version) => hasStatus(spec, version)),
    "spec.validation",
    isUnchanged(spec, before, spec.versions[0])
  ),
  ...ViewValidation.ofSubresources(spec.common.subresources, "spec.subresources"),
  ...ViewValidation.ofColumns(spec.common, "spec.additionalPrinterColumns"),
  ...ViewValidation.ofSelectableFields(spec.common, spec.common.schema, "spec.selectableFields"),
  ...ConversionValidation.validate(spec, before)
]

/** Whether a version has the same schema as in the old spec. */
const isUnchanged = (
  spec: Internal.Spec,
  before: Internal.Spec | undefined,
  version: Internal.Version | undefined
): boolean => {
  const old = before?.versions.find(({ name }) => name === version?.name)
  if (before === undefined || old === undefined || version === undefined) return false
  return Json.equal(Internal.schemaOf(spec, version) ?? null, Internal.schemaOf(before, old) ?? null)
}

const ofGroup = (group: string): Errors => {
  if (group === "") return [FieldError.required("spec.group")]
  const problems = Format.dnsSubdomain(group)
  if (problems.length > 0) return [FieldError.invalid("spec.group", group, problems.join(","))]
  return group.includes(".")
    ? []
    : [FieldError.invalid("spec.group", group, "should be a domain with at least one dot")]
}

const oneOf = (path: string, value: string, accepted: ReadonlyArray<string>): Errors => {
  if (value === "") return [FieldError.required(path)]
  return accepted.includes(value) ? [] : [FieldError.notSupported(path, value, accepted)]
}

const ofMissingSchemas = (spec: Internal.Spec): Errors =>
  Internal.openApi(spec.common.schema) !== undefined
    ? []
    : spec.versions.flatMap((version, index) =>
        Internal.openApi(version.schema) === undefined
          ? [FieldError.required(`spec.versions[${index}].schema.openAPIV3Schema`)]
          : []
      )

/** Reports a spec that preserves unknown fields although its schemas have defaults. Defaults require pruning. */
const ofPreserving = (spec: Internal.Spec): Errors => {
  if (spec.read.preserveUnknownFields !== true) return []
  const all = [spec.common, ...spec.versions].flatMap(({ schema }) => [...Walk.schemas(Internal.openApi(schema))])
  const hasDefaults = all.some((schema) => schema.default !== undefined && schema.default !== null)
  if (!hasDefaults) return []
  return [
    FieldError.invalid("spec.preserveUnknownFields", true, "must be false in order to use defaults in the schema")
  ]
}

const ofVersion = (version: Internal.Version, spec: Internal.Spec, path: string, isOld: boolean): Errors => {
  const problems = Format.dnsLabel1035(version.name)
  return [
    ...(problems.length > 0 ? [FieldError.invalid(`${path}.name`, version.name, problems.join(","))] : []),
    ...ofDeprecation(version.read, `${path}.deprecationWarning`),
    ...ofSchema(version.schema, hasStatus(spec, version), `${path}.schema`, isOld),
    ...ViewValidation.ofSubresources(version.subresources, `${path}.subresources`),
    ...ViewValidation.ofColumns(version, `${path}.additionalPrinterColumns`),
    ...ViewValidation.ofSelectableFields(version, version.schema, `${path}.selectableFields`)
  ]
}

const hasStatus = (spec: Internal.Spec, version: Internal.Version): boolean =>
  Json.isObject(Json.at(version.subresources ?? spec.common.subresources, "status"))

const ofDeprecation = ({ deprecated, deprecationWarning }: Json.JsonObject, path: string): Errors => {
  const text = Json.text(deprecationWarning)
  if (text === undefined) return []
  if (deprecated !== true) return [FieldError.invalid(path, text, "can only be set for deprecated versions")]
  const strange = [...text].findIndex((character) => /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u.test(character))
  return [
    ...(Buffer.byteLength(text) > 256 ? [FieldError.invalid(path, text, "must be <= 256 characters long")] : []),
    ...(text === "" ? [FieldError.invalid(path, text, "must not be an empty string")] : []),
    ...(strange < 0
      ? []
      : [
          FieldError.invalid(
            path,
            text,
            `must only contain printable UTF-8 characters; non-printable character found at index ${strange}`
          )
        ])
  ]
}

/** Reports the errors of the first version's name again at `spec.version`, a field of the internal form. */
const ofFirstVersion = ({ versions: [first] }: Internal.Spec): Errors => {
  const problems = first === undefined || first.name === "" ? [] : Format.dnsLabel1035(first.name)
  return problems.length === 0 ? [] : [FieldError.invalid("spec.version", first?.name, problems.join(","))]
}

const ofVersions = (spec: Internal.Spec): Errors => {
  const { versions } = spec
  const names = new Set(versions.map(({ name }) => name))
  const stored = versions.filter(({ read }) => read.storage === true).length
  const wrong = (detail: string) => FieldError.invalid("spec.versions", Internal.shownVersions(versions), detail)
  return [
    ...(names.size < versions.length ? [wrong("must contain unique version names")] : []),
    ...(stored === 1 ? [] : [wrong("must have exactly one version marked as storage version")])
  ]
}

/** Returns the errors of the requested names of a CRD (`spec.names`), or of its accepted names (`status.acceptedNames`). */
export const ofNames = (value: Json.Json | undefined, path: string): Errors => {
  const names = Json.object(value)
  const label = (name: string, text: string) => {
    const problems = text === "" ? [] : Format.dnsLabel1035(text)
    return problems.length === 0 ? [] : [FieldError.invalid(`${path}.${name}`, text, problems.join(","))]
  }
  const mixed = (name: string) => {
    const text = Json.text(names[name]) ?? ""
    const problems = text === "" ? [] : Format.dnsLabel1035(text.toLowerCase())
    if (problems.length === 0) return []
    return [
      FieldError.invalid(
        `${path}.${name}`,
        text,
        `may have mixed case, but should otherwise match: ${problems.join(",")}`
      )
    ]
  }
  const labels = (name: string) =>
    Json.list(names[name]).flatMap((text, index) => {
      const problems = Format.dnsLabel1035(String(text))
      return problems.length === 0 ? [] : [FieldError.invalid(`${path}.${name}[${index}]`, text, problems.join(","))]
    })
  const kind = Json.text(names.kind) ?? ""
  return [
    ...label("plural", Json.text(names.plural) ?? ""),
    ...label("singular", Json.text(names.singular) ?? ""),
    ...mixed("kind"),
    ...mixed("listKind"),
    ...labels("shortNames"),
    ...(kind !== "" && kind === names.listKind
      ? [FieldError.invalid(`${path}.listKind`, kind, "kind and listKind may not be the same")]
      : []),
    ...labels("categories")
  ]
}

const ofSchema = (
  validation: Json.JsonObject | undefined,
  statusEnabled: boolean,
  path: string,
  isOld: boolean
): Errors => {
  const read = Internal.openApi(validation)
  if (read === undefined) return []
  const at = `${path}.openAPIV3Schema`
  const schema = StructuralSchema.schemaOf(read)
  const readable = !Structural.isUnreadable(read)
  const structural = readable ? Structural.validate(read, at) : []
  const defaults = readable && structural.length === 0 ? DefaultValidation.validate(schema, at) : []
  const sound = readable && structural.length === 0 && defaults.length === 0
  const errors = OpenApi.validate(read, at, sound ? new Types(Expression.environment()) : undefined, isOld)
  return [
    ...(statusEnabled ? ofRoot(read, at) : []),
    ...(read.nullable === true ? [FieldError.forbidden(`${at}.nullable`, "nullable cannot be true at the root")] : []),
    ...structural,
    ...defaults,
    ...errors.schema,
    ...errors.rules
  ]
}

/**
 * The members that a root schema may set if the status subresource is enabled, with their Go names. Other members are forbidden,
 * because the server takes the schema of the status out of this schema.
 */
const atRoot: ReadonlyArray<readonly [member: string, name: string]> = [
  ["description", "Description"],
  ["type", "Type"],
  ["format", "Format"],
  ["title", "Title"],
  ["maximum", "Maximum"],
  ["exclusiveMaximum", "ExclusiveMaximum"],
  ["minimum", "Minimum"],
  ["exclusiveMinimum", "ExclusiveMinimum"],
  ["maxLength", "MaxLength"],
  ["minLength", "MinLength"],
  ["pattern", "Pattern"],
  ["maxItems", "MaxItems"],
  ["minItems", "MinItems"],
  ["uniqueItems", "UniqueItems"],
  ["multipleOf", "MultipleOf"],
  ["required", "Required"],
  ["items", "Items"],
  ["properties", "Properties"],
  ["externalDocs", "ExternalDocs"],
  ["example", "Example"],
  ["x-kubernetes-preserve-unknown-fields", "XPreserveUnknownFields"],
  ["x-kubernetes-validations", "XValidations"]
]

const ofRoot = (schema: Json.JsonObject, path: string): Errors => {
  const type = Json.text(schema.type) ?? ""
  const known = new Set(atRoot.map(([member]) => member))
  const says = (value: Json.Json | undefined) =>
    value !== undefined &&
    value !== null &&
    value !== false &&
    value !== "" &&
    Json.list(value).length + Object.keys(Json.object(value)).length !== 0
  const strange = Object.entries(schema).some(
    ([member, value]) =>
      !known.has(member) &&
      (says(value) || typeof value === "number" || value === true || (typeof value === "string" && value !== ""))
  )
  if (type !== "" && type !== "object") {
    const detail = 'only "object" is allowed as the type at the root of the schema if the status subresource is enabled'
    return [FieldError.invalid(`${path}.type`, type, detail)]
  }
  if (!strange) return []
  const allowed = `[${atRoot.map(([, name]) => name).join(" ")}]`
  const detail = `only ${allowed} fields are allowed at the root of the schema if the status subresource is enabled`
  return [FieldError.invalid(path, Internal.shownSchema(schema), detail)]
}

const ofStored = (crd: Json.JsonObject, spec: Internal.Spec): Errors => {
  const path = "status.storedVersions"
  const stored = Json.list(Json.at(crd, "status", "storedVersions"))
  if (stored.length === 0) return [FieldError.invalid(path, null, "must have at least one stored version")]
  const names = spec.versions.map(({ name }) => name)
  const storage = spec.versions.filter(({ name, read }) => read.storage === true && !stored.includes(name))
  return [
    ...storage.map(({ name }) => FieldError.invalid(path, stored, `must have the storage version ${name}`)),
    ...stored.flatMap((version, index) => {
      const name = String(version)
      if (names.includes(name)) return []
      const detail = `missing from spec.versions; ${name} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in ${name} and removes ${name} from status.storedVersions`
      return [FieldError.invalid(`${path}[${index}]`, name, detail)]
    })
  ]
}

const approval = "api-approved.kubernetes.io"

/** Reports a CRD in a group of Kubernetes (`k8s.io`, `kubernetes.io`) that has no valid approval annotation. */
const ofApproval = (crd: Json.JsonObject, { group }: Internal.Spec, old: Json.JsonObject | undefined): Errors => {
  if (!/(^|\.)(k8s|kubernetes)\.io$/.test(group)) return []
  const stateOf = (object: Json.JsonObject) => {
    const text = Json.text(Json.at(object, "metadata", "annotations", approval)) ?? ""
    if (text === "") return "missing"
    if (text.startsWith("unapproved")) return "bypassed"
    return /^[a-z][a-z0-9+.-]*:\/\/[^/?#]+/i.test(text) ? "approved" : "invalid"
  }
  const state = stateOf(crd)
  if (old !== undefined && stateOf(old) === state) return []
  const path = `metadata.annotations[${approval}]`
  const link = "see https://github.com/kubernetes/enhancements/pull/1111"
  if (state === "missing") {
    return [FieldError.required(path, `protected groups must have approval annotation "${approval}", ${link}`)]
  }
  if (state !== "invalid") return []
  const text = Json.at(crd, "metadata", "annotations", approval)
  const detail = `protected groups must have approval annotation "${approval}" with either a URL or a reason starting with "unapproved", ${link}`
  return [FieldError.invalid(path, text, detail)]
}
