/**
 * POST: a new object, in the order of a kube-apiserver. The server removes the fields that only it sets, checks the namespace and the
 * name, and fills in defaults. Then it adds the managers, generates a name, and prepares and validates the object by its kind.
 */

import * as Escalation from "../access/Escalation.ts"
import * as Admission from "../admission/NamespaceLifecycle.ts"
import type { ServerState, WriteOptions } from "../admission/ServerState.ts"
import * as ManagedFields from "../fields/ManagedFields.ts"
import * as Failure from "../model/Failure.ts"
import type { FieldError } from "../model/FieldError.ts"
import * as Json from "../model/Json.ts"
import { convertAhead, type Kind, type Strategy, typeOf } from "../model/Kind.ts"
import * as ObjectMeta from "../model/ObjectMeta.ts"
import * as ObjectMetaValidation from "../model/ObjectMetaValidation.ts"
import { timestamp } from "../model/Timestamp.ts"
import * as ObjectSize from "../storage/ObjectSize.ts"
import * as CustomDefinitions from "./CustomDefinitions.ts"

/** The number of further names that the server generates after conflicts. */
const nameAttempts = 8

/** Creates an object, and returns the stored object in the version of its kind. Throws a Failure. */
export const create = (
  state: ServerState,
  kind: Kind,
  namespace: string,
  object: Json.JsonObject,
  options: WriteOptions
): Json.JsonObject => {
  const draft = Json.copy({ ...typeOf(kind), ...object })
  const metadata = ObjectMeta.draftOf(draft)
  ObjectMeta.wipeSystemFields(metadata)
  ObjectMeta.ensureNamespace(kind, metadata, namespace)
  kind.strategy.default(draft)
  ObjectMeta.dedupOwnerReferences(metadata, options.warn)
  const managed = ManagedFields.updated(
    {
      kind,
      kindIn: (apiVersion) => state.registry.named(apiVersion, kind.kind),
      manager: options.manager,
      subresource: undefined,
      resetFields: kind.strategy.resetFields,
      now: options.now
    },
    undefined,
    draft
  )
  return insert(state, kind, namespace, managed, options)
}

/** Completes a creation after the managers are known: for a POST, and for an apply or a PUT that creates the object. */
export const insert = (
  state: ServerState,
  kind: Kind,
  namespace: string,
  managed: Json.JsonObject,
  options: WriteOptions,
  strategy: Pick<Strategy, "prepareForCreate"> = kind.strategy
): Json.JsonObject => {
  Admission.checkCreate(state.store, kind, namespace, ObjectMeta.nameOf(managed))
  CustomDefinitions.checkCreate(state, kind, ObjectMeta.nameOf(managed))
  if (!kind.verbs.includes("get")) return answered(kind, managed, options)
  const prefixed = textOf(managed, "generateName") !== ""
  const generates = ObjectMeta.nameOf(managed) === "" && prefixed
  const attributes = {
    operation: "CREATE",
    resource: kind,
    subresource: "",
    namespace: kind.namespaced ? namespace : "",
    oldObject: null
  } as const
  const mutated = options.mutate?.({ ...attributes, name: ObjectMeta.nameOf(managed), object: managed }) ?? managed
  Escalation.check(options, kind, attributes.namespace, mutated)
  for (let attempt = 1; ; attempt++) {
    const draft = prepared(state, kind, mutated, options, strategy)
    const name = ObjectMeta.nameOf(draft)
    options.admit?.({ ...attributes, name, object: { ...draft, ...typeOf(kind) } })
    const found = state.store.get(kind.storage, kind.namespaced ? namespace : "", name)
    if (found === undefined) return store(state, kind, draft, options)
    if (!prefixed) throw taken(kind, name, found)
    if (!generates || attempt === nameAttempts) throw notUnique(kind, name, found)
  }
}

/** The object that is ready to be stored, with its name and all fields that the server sets. */
const prepared = (
  state: ServerState,
  kind: Kind,
  managed: Json.JsonObject,
  options: WriteOptions,
  strategy: Pick<Strategy, "prepareForCreate">
): Json.DraftObject => {
  const draft = Json.copy(managed)
  const metadata = ObjectMeta.draftOf(draft)
  // Mutating webhooks see what a client has written to these fields in an apply or a PUT.
  ObjectMeta.wipeSystemFields(metadata)
  metadata.creationTimestamp = timestamp(options.now)
  metadata.uid = state.identity.uid()
  const generateName = textOf(draft, "generateName")
  if (ObjectMeta.nameOf(draft) === "" && generateName !== "") metadata.name = state.identity.name(generateName)
  strategy.prepareForCreate(draft, options)
  const warnings: Array<string> = []
  const found = [
    ...ObjectMetaValidation.validate(kind, draft),
    ...ObjectMetaValidation.unqualifiedFinalizers(kind, draft)
  ]
  const writing = { ...options, warn: (text: string) => warnings.push(text) }
  const errors = [...found, ...kind.strategy.validate(draft, writing, found)]
  if (errors.length > 0) throw invalid(kind, draft, errors)
  for (const warning of warnings) options.warn(warning)
  if (kind.noControllerWarning !== undefined) options.warn(kind.noControllerWarning)
  return draft
}

const store = (state: ServerState, kind: Kind, draft: Json.DraftObject, options: WriteOptions): Json.JsonObject => {
  const metadata = ObjectMeta.draftOf(draft)
  const resourceVersion = textOf(draft, "resourceVersion")
  // A text that is not a number counts as missing. The server ignores it in a dry run.
  if (!options.dryRun && /^\d+$/.test(resourceVersion) && !/^0+$/.test(resourceVersion)) {
    throw Failure.plain("resourceVersion should not be set on objects to be created")
  }
  if (!options.dryRun) delete metadata.resourceVersion
  const object = { ...draft, ...typeOf(kind) }
  const stored = kind.toStorage(object)
  convertAhead(kind, stored)
  if (!options.dryRun) ObjectSize.check(stored)
  return kind.fromStorage(options.dryRun ? stored : state.store.put(kind.storage, stored))
}

/** The error (422) about an invalid object, with the object's own apiVersion and kind. */
export const invalid = (kind: Kind, object: Json.JsonObject, errors: ReadonlyArray<FieldError>): Failure.Failure => {
  const [group, version] = (Json.text(object.apiVersion) ?? "").split("/")
  const named = { group: version === undefined ? "" : (group ?? ""), kind: Json.text(object.kind) ?? kind.kind }
  return Failure.invalid({ ...kind, ...(kind.custom && named) }, ObjectMeta.nameOf(object), errors)
}

/** Handles a review: the server responds to it, and does not store it. */
const answered = (kind: Kind, managed: Json.JsonObject, options: WriteOptions): Json.JsonObject => {
  const draft = Json.copy(managed)
  kind.strategy.prepareForCreate(draft, options)
  const errors = kind.strategy.validate(draft, options)
  if (errors.length > 0) throw Failure.invalid(kind, ObjectMeta.nameOf(draft), errors)
  return { ...draft, ...typeOf(kind) }
}

const textOf = (object: Json.JsonObject, field: string): string => Json.text(Json.at(object, "metadata", field)) ?? ""

const taken = (kind: Kind, name: string, found: Json.JsonObject): Failure.Failure =>
  deleting(found, Failure.alreadyExists(kind, name))

const notUnique = (kind: Kind, name: string, found: Json.JsonObject): Failure.Failure => {
  const { code, details, message, reason } = Failure.alreadyExists(kind, name)
  return deleting(
    found,
    new Failure.Failure({
      code,
      reason,
      message: `${message}, the server was not able to generate a unique name for the object`,
      details: { ...details, retryAfterSeconds: 1 }
    })
  )
}

const deleting = (found: Json.JsonObject, { code, details, message, reason }: Failure.Failure): Failure.Failure =>
  new Failure.Failure({
    code,
    reason,
    message: ObjectMeta.isDeleting(found) ? `object is being deleted: ${message}` : message,
    details
  })
