/**
 * Validates names, labels, annotations, owner references and finalizers, with the order and the messages of apimachinery's
 * `ValidateObjectMeta`.
 */

import * as Failure from "./Failure.ts"
import * as FieldError from "./FieldError.ts"
import * as FieldManager from "./FieldManager.ts"
import * as Format from "./Format.ts"
import * as Json from "./Json.ts"
import type { Kind } from "./Kind.ts"
import * as ObjectMeta from "./ObjectMeta.ts"
import { quote } from "./Quote.ts"

/** Throws a Failure (400) if a name is not a valid path segment. */
export const checkSegment = (name: string): void => {
  const errors = segment(name, false)
  if (errors.length === 0) return
  throw Failure.badRequest(`Name parameter invalid: ${quote(name)}: ${errors.join(";")}`)
}

/** Validates the metadata of an object by the rules of a create. Returns the errors. */
export const validate = (kind: Named, object: Json.JsonObject): ReadonlyArray<FieldError.FieldError> =>
  validateObjectMeta(kind, object, kind.validateName ?? subdomain)

/** Validates the metadata of an existing object. Its name was validated on create, so it only has to be a path segment. */
export const validateExisting = (kind: Kind, object: Json.JsonObject): ReadonlyArray<FieldError.FieldError> =>
  validateObjectMeta(kind, object, segment)

/** Validates the metadata of an existing object by the rules of a create, for the kinds where kube-apiserver does so. */
export const revalidate = (kind: Kind, object: Json.JsonObject): ReadonlyArray<FieldError.FieldError> =>
  revalidated.has(`${kind.group}/${kind.kind}`) ? validate(kind, object) : []

/**
 * Validates the metadata of a resource embedded at `path` in another object, decoded as Go does. The metadata does not require
 * a name, and may omit the namespace.
 */
export const validateEmbedded = (metadata: Json.JsonObject, path: string): ReadonlyArray<FieldError.FieldError> =>
  [
    ...validateNames(segment, { ...metadata, name: Json.text(metadata.name) || "none" }),
    ...(metadata.namespace === undefined ? [] : validateNamespace({ namespaced: true }, metadata)),
    ...validateCommon(metadata, true),
    ...validateManagedFields(metadata.managedFields)
  ].map((error) => ({ ...error, field: error.field?.replace(/^metadata/, () => path) }))

/** The properties of a kind that determine the valid names of its objects. */
type Named = Pick<Kind, "namespaced" | "validateName">

/** The kinds whose update is also validated like a create. ConfigMaps and Secrets are too, but after their own update rules. */
const revalidated: ReadonlySet<string> = new Set(["/ServiceAccount", "/Endpoints", "/PersistentVolume"])

const validateObjectMeta = (
  kind: Named,
  object: Json.JsonObject,
  names: Names
): ReadonlyArray<FieldError.FieldError> => {
  const metadata = Json.object(object.metadata)
  return [...validateNames(names, metadata), ...validateNamespace(kind, metadata), ...validateCommon(metadata, true)]
}

/** An additional check of built-in kinds: a finalizer must be one of Kubernetes' own or have a domain. */
export const unqualifiedFinalizers = (kind: Kind, object: Json.JsonObject): ReadonlyArray<FieldError.FieldError> =>
  kind.custom || kind.group === "apiextensions.k8s.io"
    ? []
    : ObjectMeta.finalizersOf(object).flatMap((one, index) =>
        isQualified(one)
          ? []
          : [
              FieldError.invalid(
                `metadata.finalizers[${index}]`,
                one,
                "name is neither a standard finalizer name nor is it fully qualified"
              )
            ]
      )

const isQualified = (finalizer: string): boolean =>
  finalizer.includes("/") || [ObjectMeta.orphan, ObjectMeta.foregroundDeletion, "kubernetes"].includes(finalizer)

/** Validates an update of metadata. Returns the errors. */
export const validateUpdate = (object: Json.JsonObject, old: Json.JsonObject): ReadonlyArray<FieldError.FieldError> => {
  const metadata = Json.object(object.metadata)
  const before = Json.object(old.metadata)
  return [...newFinalizers(object, old), ...immutable(metadata, before), ...validateCommon(metadata, false)]
}

/** Validates a name, or with `prefix` a generateName. Returns the errors. */
type Names = (name: string, prefix: boolean) => ReadonlyArray<string>

const validateNames = (validateName: Names, metadata: Json.JsonObject): ReadonlyArray<FieldError.FieldError> => {
  const { generateName, name } = metadata
  const generated = typeof generateName === "string" ? generateName : ""
  return [
    ...(generated === "" ? [] : validateName(generated, true)).map((error) =>
      FieldError.invalid("metadata.generateName", generated, error)
    ),
    ...(typeof name !== "string" || name === ""
      ? [FieldError.required("metadata.name", "name or generateName is required")]
      : validateName(name, false).map((error) => FieldError.invalid("metadata.name", name, error)))
  ]
}

/** The name rules of most kinds. A generateName may end in a character that a name may not end in. */
const subdomain = (name: string, prefix: boolean): ReadonlyArray<string> =>
  Format.dnsSubdomain(prefix ? maskTrailingDash(name) : name)

/** Replaces a hyphen at the end of a generateName, because the generated name does not end there. */
const maskTrailingDash = (prefix: string): string =>
  prefix.length > 1 && prefix.endsWith("-") ? `${prefix.slice(0, -2)}a` : prefix

/** The rules of a path segment. */
const segment: Names = (name, prefix) =>
  !prefix && (name === "." || name === "..")
    ? [`may not be '${name}'`]
    : ["/", "%"].filter((part) => name.includes(part)).map((part) => `may not contain '${part}'`)

const validateNamespace = (
  kind: Pick<Kind, "namespaced">,
  metadata: Json.JsonObject
): ReadonlyArray<FieldError.FieldError> => {
  const value = Json.text(metadata.namespace) ?? ""
  if (!kind.namespaced) {
    return value === "" ? [] : [FieldError.forbidden("metadata.namespace", "not allowed on this type")]
  }
  return value === ""
    ? [FieldError.required("metadata.namespace")]
    : Format.dnsLabel(value).map((error) => FieldError.invalid("metadata.namespace", value, error))
}

const validateCommon = (metadata: Json.JsonObject, withFinalizers: boolean): ReadonlyArray<FieldError.FieldError> => [
  ...validateGeneration(metadata.generation),
  ...validateLabels(metadata.labels),
  ...validateAnnotations(metadata.annotations),
  ...validateOwnerReferences(metadata.ownerReferences),
  ...(withFinalizers ? validateFinalizers(metadata.finalizers) : [])
]

const validateGeneration = (generation: Json.Json | undefined): ReadonlyArray<FieldError.FieldError> =>
  typeof generation === "number" && generation < 0
    ? [FieldError.invalid("metadata.generation", generation, "must be greater than or equal to 0")]
    : []

const validateLabels = (labels: Json.Json | undefined): ReadonlyArray<FieldError.FieldError> =>
  Object.entries(Json.texts(labels)).flatMap(([key, value]) => [
    ...Format.labelKey(key).map((error) => FieldError.invalid("metadata.labels", key, error)),
    ...Format.labelValue(value).map((error) => FieldError.invalid("metadata.labels", value, error))
  ])

/** Validates labels or annotations that a conversion returned. */
export const validateTexts = (
  field: "labels" | "annotations",
  value: Json.Json | undefined
): ReadonlyArray<FieldError.FieldError> => (field === "labels" ? validateLabels(value) : validateAnnotations(value))

/** The limit of all annotations of an object together, in bytes. */
const mostAnnotations = 256 * 1024

const validateAnnotations = (annotations: Json.Json | undefined): ReadonlyArray<FieldError.FieldError> => {
  const all = Object.entries(Json.texts(annotations))
  const keys = all.flatMap(([key]) =>
    Format.labelKey(key.toLowerCase()).map((error) => FieldError.invalid("metadata.annotations", key, error))
  )
  const size = all.reduce((sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(value), 0)
  return size > mostAnnotations
    ? [
        ...keys,
        FieldError.make(
          "FieldValueTooLong",
          "metadata.annotations",
          undefined,
          `may not be more than ${mostAnnotations} bytes`
        )
      ]
    : keys
}

/**
 * The maximum number of reported errors about extra controllers. Each error shows all owners, so thousands of them would be
 * too large.
 */
const mostControllers = 10

const validateOwnerReferences = (owners: Json.Json | undefined): ReadonlyArray<FieldError.FieldError> => {
  const all = Json.objects(owners)
  let first: string | undefined
  let reported = 0
  return all.flatMap((owner, index) => {
    const errors = [...validateOwnerReference(owner, `metadata.ownerReferences[${index}]`)]
    if (owner.controller !== true) return errors
    const controller = `${Json.text(owner.kind) ?? ""}/${Json.text(owner.name) ?? ""}`
    if (first !== undefined && reported < mostControllers) {
      reported++
      errors.push(
        FieldError.invalid(
          "metadata.ownerReferences",
          all.map(ObjectMeta.ownerAsGo),
          `Only one reference can have Controller set to true. Found "true" in references for ${first} and ${controller}`
        )
      )
    }
    first ??= controller
    return errors
  })
}

const validateOwnerReference = (owner: Json.JsonObject, field: string): ReadonlyArray<FieldError.FieldError> => {
  const apiVersion = Json.text(owner.apiVersion) ?? ""
  const kind = Json.text(owner.kind) ?? ""
  const unreadable = apiVersion !== "" && (apiVersion.split("/").length > 2 || apiVersion.endsWith("/"))
  const missing = ["kind", "name", "uid"].filter((name) => (Json.text(owner[name]) ?? "") === "")
  return [
    ...(apiVersion === "" ? [FieldError.required(`${field}.apiVersion`, "must not be empty")] : []),
    ...(unreadable
      ? [FieldError.invalid(`${field}.apiVersion`, apiVersion, "must be <group>/<version> or <version>")]
      : []),
    ...missing.map((name) => FieldError.required(`${field}.${name}`, "must not be empty")),
    ...(apiVersion === "v1" && kind === "Event"
      ? [FieldError.invalid(field, ObjectMeta.ownerAsGo(owner), "/v1, Kind=Event is disallowed from being an owner")]
      : [])
  ]
}

const validateFinalizers = (value: Json.Json | undefined): ReadonlyArray<FieldError.FieldError> => {
  const all = Json.list(value).filter((item) => typeof item === "string")
  const field = "metadata.finalizers"
  const names = all.flatMap((one) => Format.labelKey(one).map((error) => FieldError.invalid(field, one, error)))
  return all.includes(ObjectMeta.orphan) && all.includes(ObjectMeta.foregroundDeletion)
    ? [
        ...names,
        FieldError.invalid(
          field,
          all,
          `finalizer ${ObjectMeta.orphan} and ${ObjectMeta.foregroundDeletion} cannot be both set`
        )
      ]
    : names
}

/** The maximum length of a subresource name, in bytes. */
const longestSubresource = 256

const validateManagedFields = (managers: Json.Json | undefined): ReadonlyArray<FieldError.FieldError> =>
  Json.objects(managers).flatMap((entry, index) => {
    const field = `metadata.managedFields[${index}]`
    const text = (name: string) => Json.text(entry[name]) ?? ""
    const operation = text("operation")
    return [
      ...(operation === "" ? [FieldError.required(`${field}.operation`, "must not be empty")] : []),
      ...(["", "Apply", "Update"].includes(operation)
        ? []
        : [FieldError.notSupported(`${field}.operation`, operation, ["Apply", "Update"])]),
      ...(["", "FieldsV1"].includes(text("fieldsType"))
        ? []
        : [FieldError.invalid(`${field}.fieldsType`, text("fieldsType"), "must be `FieldsV1`")]),
      ...FieldManager.validate(text("manager"), `${field}.manager`),
      ...(Buffer.byteLength(text("subresource")) > longestSubresource
        ? [
            FieldError.make(
              "FieldValueTooLong",
              `${field}.subresource`,
              undefined,
              `may not be more than ${longestSubresource} bytes`
            )
          ]
        : [])
    ]
  })

const newFinalizers = (object: Json.JsonObject, old: Json.JsonObject): ReadonlyArray<FieldError.FieldError> => {
  if (!ObjectMeta.isDeleting(old)) return []
  const known = new Set(ObjectMeta.finalizersOf(old))
  const added = [...new Set(ObjectMeta.finalizersOf(object))].filter((one) => !known.has(one)).sort()
  return added.length === 0
    ? []
    : [
        FieldError.forbidden(
          "metadata.finalizers",
          `no new finalizers can be added if the object is being deleted, found new finalizers []string{${added.map((one) => JSON.stringify(one)).join(", ")}}`
        )
      ]
}

const immutable = (metadata: Json.JsonObject, before: Json.JsonObject): ReadonlyArray<FieldError.FieldError> =>
  ["name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"]
    .filter((field) => !Json.equal(metadata[field] ?? null, before[field] ?? null))
    .map((field) => FieldError.invalid(`metadata.${field}`, metadata[field], "field is immutable"))
