/**
 * The validation of names, labels, annotations, owners and finalizers, in the order and the words of apimachinery's
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

/** Throws a Failure (400) for a name in a path that would lead somewhere else. */
export const checkSegment = (name: string): void => {
  const errors = segment(name, false)
  if (errors.length === 0) return
  throw Failure.badRequest(`Name parameter invalid: ${quote(name)}: ${errors.join(";")}`)
}

/** What is wrong with the metadata of an object, new or changed. */
export const validate = (kind: Named, object: Json.JsonObject): ReadonlyArray<FieldError.FieldError> =>
  validateObjectMeta(kind, object, kind.validateName ?? subdomain)

/** The same for an object that there is: its name was right when it was made, and only has to fit into a path. */
export const validateExisting = (kind: Kind, object: Json.JsonObject): ReadonlyArray<FieldError.FieldError> =>
  validateObjectMeta(kind, object, segment)

/** The errors that some kinds find in the metadata of an object that there is, as if it were new. */
export const revalidate = (kind: Kind, object: Json.JsonObject): ReadonlyArray<FieldError.FieldError> =>
  revalidated.has(`${kind.group}/${kind.kind}`) ? validate(kind, object) : []

/**
 * The same for the metadata, at a path, of a resource inside of another, as Go reads it: it needs no name, and is in a
 * namespace if it says so.
 */
export const validateEmbedded = (metadata: Json.JsonObject, path: string): ReadonlyArray<FieldError.FieldError> =>
  [
    ...validateNames(segment, { ...metadata, name: Json.text(metadata.name) || "none" }),
    ...(metadata.namespace === undefined ? [] : validateNamespace({ namespaced: true }, metadata)),
    ...validateCommon(metadata, true),
    ...validateManagedFields(metadata.managedFields)
  ].map((error) => ({ ...error, field: error.field?.replace(/^metadata/, () => path) }))

/** The parts of a kind that decide which names its objects may have. */
type Named = Pick<Kind, "namespaced" | "validateName">

/** Kinds whose update is validated like a creation, once more. ConfigMaps and Secrets are, too, after their own rules for updates. */
const revalidated: ReadonlySet<string> = new Set(["/ServiceAccount", "/Endpoints", "/PersistentVolume"])

const validateObjectMeta = (
  kind: Named,
  object: Json.JsonObject,
  names: Names
): ReadonlyArray<FieldError.FieldError> => {
  const metadata = Json.object(object.metadata)
  return [...validateNames(names, metadata), ...validateNamespace(kind, metadata), ...validateCommon(metadata, true)]
}

/** What the built-in kinds say besides of finalizers: theirs are Kubernetes' own, or have a domain. */
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

/** What is wrong with a change of metadata. */
export const validateUpdate = (object: Json.JsonObject, old: Json.JsonObject): ReadonlyArray<FieldError.FieldError> => {
  const metadata = Json.object(object.metadata)
  const before = Json.object(old.metadata)
  return [...newFinalizers(object, old), ...immutable(metadata, before), ...validateCommon(metadata, false)]
}

/** What is wrong with a name, or with the beginning of one. */
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

/** The name of most kinds. A beginning may end in what may not stand at the end of a name. */
const subdomain = (name: string, prefix: boolean): ReadonlyArray<string> =>
  Format.dnsSubdomain(prefix ? maskTrailingDash(name) : name)

/** A beginning that ends in a dash, as the name that it becomes. */
const maskTrailingDash = (prefix: string): string =>
  prefix.length > 1 && prefix.endsWith("-") ? `${prefix.slice(0, -2)}a` : prefix

/** A name as a segment of a path. */
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

/** What is wrong with labels, or with annotations, that a conversion has made. */
export const validateTexts = (
  field: "labels" | "annotations",
  value: Json.Json | undefined
): ReadonlyArray<FieldError.FieldError> => (field === "labels" ? validateLabels(value) : validateAnnotations(value))

/** As much as all annotations of an object may be in bytes. */
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

/** Each error of a controller too many shows all owners: of thousands that would be more than fits anywhere. */
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

/** As long as the name of a subresource may be, in bytes. */
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
