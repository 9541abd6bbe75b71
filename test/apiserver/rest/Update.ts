/**
 * The common part of PUT, PATCH, apply and the subresources. The caller makes the next object from the live one. This module compares its
 * resourceVersion, keeps the fields that must not change, and prepares and validates the object by its kind. Then it stores the object if
 * it changed, or removes it if a deletion waited only for this change.
 */

import * as Escalation from "../access/Escalation.ts"
import { isKind, type ServerState, type WriteOptions } from "../admission/ServerState.ts"
import * as ManagedFields from "../fields/ManagedFields.ts"
import { forbidden, isPrivileged } from "../model/Authorizer.ts"
import * as Failure from "../model/Failure.ts"
import * as FieldError from "../model/FieldError.ts"
import * as Json from "../model/Json.ts"
import { convertAhead, type Kind, type Strategy, typeOf } from "../model/Kind.ts"
import * as ObjectMeta from "../model/ObjectMeta.ts"
import * as ObjectMetaValidation from "../model/ObjectMetaValidation.ts"
import * as ObjectSize from "../storage/ObjectSize.ts"
import * as Precondition from "../storage/Precondition.ts"
import * as Create from "./Create.ts"

/** The target of a request. */
export interface Target {
  readonly kind: Kind
  readonly namespace: string
  readonly name: string
  /** The subresource; empty for the object itself. */
  readonly subresource: string
}

/** The result of a change. */
export interface Changed {
  readonly object: Json.JsonObject
  readonly created: boolean
}

/** The strategy of a target. Throws a Failure (404) for an unknown subresource. */
export const strategyOf = ({ kind, name, subresource }: Target): Strategy => {
  const strategy =
    subresource === "" ? kind.strategy : subresource === "status" ? kind.status : kind.subresources?.[subresource]
  if (strategy === undefined) throw Failure.notFound(kind, name)
  return strategy
}

/** The input for the managed fields of a write to a target. */
export const writeOf = ({ registry }: ServerState, target: Target, options: WriteOptions): ManagedFields.Write => ({
  kind: target.kind,
  kindIn: (apiVersion) => registry.named(apiVersion, target.kind.kind),
  manager: options.manager,
  subresource: target.subresource === "" ? undefined : target.subresource,
  resetFields: strategyOf(target).resetFields,
  now: options.now
})

/** The live object in the version of its kind; undefined if it does not exist. Throws a Failure (400) for an invalid name. */
export const live = (state: ServerState, target: Target): Json.JsonObject | undefined => {
  const stored = storedAs(state, target)
  return stored === undefined ? undefined : (target.kind.forUpdate ?? target.kind.fromStorage)(stored)
}

/** The stored object. Throws a Failure (400) for an invalid name. */
export const storedAs = (
  state: ServerState,
  { kind, name, namespace }: Pick<Target, "kind" | "name" | "namespace">
): Json.JsonObject | undefined => {
  ObjectMetaValidation.checkSegment(name)
  return state.store.get(kind.storage, kind.namespaced ? namespace : "", name)
}

/** PUT: replaces an object, or its status. Throws a Failure. */
export const update = (state: ServerState, target: Target, object: Json.JsonObject, options: WriteOptions): Changed => {
  const { kind, name, namespace } = target
  const draft = Json.copy(object)
  ObjectMeta.ensureNamespace(kind, ObjectMeta.draftOf(draft), namespace)
  ObjectMeta.checkName(draft, name)
  const current = live(state, target)
  const strategy = strategyOf(target)
  fill(strategy, draft)
  ObjectMeta.dedupOwnerReferences(ObjectMeta.draftOf(draft), options.warn)
  if (current === undefined) {
    if (!kind.createOnUpdate) throw Failure.notFound(kind, name)
    const managed = Json.copy(ManagedFields.updated(writeOf(state, target, options), undefined, draft))
    if (!options.dryRun) delete ObjectMeta.draftOf(managed).resourceVersion
    checkCreation(target, options)
    return { object: Create.insert(state, kind, namespace, managed, options, strategy), created: true }
  }
  checkUid(target, current, draft)
  return commit(state, target, current, ManagedFields.updated(writeOf(state, target, options), current, draft), options)
}

/** Throws a Failure (403) if the user may not create the object that a PUT or an apply would create. */
export const checkCreation = ({ kind, name, namespace, subresource }: Target, options: WriteOptions): void => {
  const { authorizer, user } = options
  if (authorizer === undefined || isPrivileged(user)) return
  const resource = { group: kind.group, resource: kind.plural, subresource, namespace, name }
  const request = { user, verb: "create", resource, path: "" }
  const { allowed, reason } = authorizer.authorize(request)
  if (!allowed) throw forbidden(request, reason)
}

/** Sets the defaults. Keeps an empty list of managers, which removes all managers. */
export const fill = (strategy: Strategy, draft: Json.DraftObject): void => {
  const { managedFields } = ObjectMeta.draftOf(draft)
  strategy.default(draft)
  if (Array.isArray(managedFields) && managedFields.length === 0) ObjectMeta.draftOf(draft).managedFields = []
}

/** Throws a Failure (409) if the UID of the next object differs from that of the current one. */
export const checkUid = ({ kind, name, namespace }: Target, current: Json.JsonObject, next: Json.JsonObject): void => {
  const given = Json.text(Json.at(next, "metadata", "uid")) ?? ""
  const real = Json.text(Json.at(current, "metadata", "uid")) ?? ""
  if (given === "" || given === real) return
  throw Precondition.failed(kind, namespace, name, "UID", given, real)
}

/** Replaces the current object by the next one, whose managers are already known. */
export const commit = (
  state: ServerState,
  target: Target,
  current: Json.JsonObject,
  next: Json.JsonObject,
  options: WriteOptions
): Changed => {
  const { kind } = target
  const strategy = strategyOf(target)
  const attributes = {
    operation: "UPDATE",
    resource: kind,
    subresource: target.subresource,
    namespace: kind.namespaced ? target.namespace : "",
    name: target.name,
    oldObject: current
  } as const
  const mutated = options.mutate?.({ ...attributes, object: next }) ?? next
  if (target.subresource === "") Escalation.check(options, kind, attributes.namespace, mutated, current)
  checkVersion(kind, target.name, current, mutated)
  const draft = Json.copy(mutated)
  const metadata = ObjectMeta.draftOf(draft)
  const before = Json.object(current.metadata)
  keep(metadata, before, "generation")
  strategy.prepareForUpdate(draft, current, options)
  keep(metadata, before, "creationTimestamp")
  keep(metadata, before, "resourceVersion")
  if (metadata.uid === undefined || metadata.uid === "") keep(metadata, before, "uid")
  if (ObjectMeta.isDeleting(current)) keep(metadata, before, "deletionTimestamp")
  if (metadata.deletionGracePeriodSeconds === undefined) keep(metadata, before, "deletionGracePeriodSeconds")
  const warnings: Array<string> = []
  const errors = validateUpdate(kind, strategy, draft, current, {
    ...options,
    warn: (text) => warnings.push(text),
    warnAlways: options.warn
  })
  if (errors.length > 0) throw Create.invalid(kind, draft, errors)
  for (const warning of warnings) options.warn(warning)
  const updated = ManagedFields.ignoreTimestamps(current, Json.share(current, { ...draft, ...typeOf(kind) }))
  options.admit?.({ ...attributes, object: updated })
  return { object: write(state, kind, current, updated, options), created: false }
}

const write = (
  state: ServerState,
  kind: Kind,
  current: Json.JsonObject,
  draft: Json.JsonObject,
  options: WriteOptions
): Json.JsonObject => {
  if (endsDeletion(kind, current, draft)) {
    if (!options.dryRun) state.store.remove(kind.storage, ObjectMeta.namespaceOf(current), ObjectMeta.nameOf(current))
    return kind.forUpdate === undefined ? draft : kind.fromStorage(draft)
  }
  if (options.dryRun) return kind.fromStorage(kind.toStorage(draft))
  const stored = kind.toStorage(withoutSelfLink(draft))
  convertAhead(kind, stored)
  const before = state.store.get(kind.storage, ObjectMeta.namespaceOf(current), ObjectMeta.nameOf(current))
  // Defaults that the server sets on reads count as changes, so an object without them is written.
  const same = Json.equal(stored, before) && Json.equal(stored, kind.toStorage(current))
  if (same) return kind.fromStorage(before ?? stored)
  ObjectSize.check(stored)
  return kind.fromStorage(state.store.put(kind.storage, stored))
}

/** Removes a field that former versions of the API set. */
const withoutSelfLink = (object: Json.JsonObject): Json.JsonObject => {
  if (Json.at(object, "metadata", "selfLink") === undefined) return object
  const { selfLink: _, ...metadata } = Json.object(object.metadata)
  return { ...object, metadata }
}

/** True if the object is marked as deleted, and this change removes the last finalizer. */
const endsDeletion = (kind: Kind, current: Json.JsonObject, next: Json.JsonObject): boolean => {
  if (!ObjectMeta.isDeleting(current) || ObjectMeta.finalizersOf(next).length > 0) return false
  if (isKind(kind, "", "Namespace") && Json.list(Json.at(next, "spec", "finalizers")).length > 0) return false
  return (Json.number(Json.at(current, "metadata", "deletionGracePeriodSeconds")) ?? 0) === 0
}

const checkVersion = (kind: Kind, name: string, current: Json.JsonObject, next: Json.JsonObject): void => {
  const given = Json.text(Json.at(next, "metadata", "resourceVersion")) ?? ""
  if (!/^\d*$/.test(given)) {
    throw Failure.plain(`strconv.ParseUint: parsing ${JSON.stringify(given)}: invalid syntax`)
  }
  if (given === "" || /^0+$/.test(given)) {
    if (kind.unconditionalUpdate) return
    const error = FieldError.invalid("metadata.resourceVersion", 0, "must be specified for an update")
    throw Failure.invalid({ ...kind, kind: kind.plural }, name, [error])
  }
  if (given !== Json.at(current, "metadata", "resourceVersion")) throw Failure.conflict(kind, name, Failure.modified)
}

const keep = (metadata: Json.DraftObject, before: Json.JsonObject, field: string): void => {
  const value = before[field]
  if (value === undefined) delete metadata[field]
  else metadata[field] = Json.copy(value)
}

/**
 * Validates the metadata of an update. A kube-apiserver runs these rules several times: in the server, in its rules for updates, and in
 * those of each kind. Only clients of custom kinds get a warning.
 */
const validateUpdate = (
  kind: Kind,
  strategy: Strategy,
  draft: Json.JsonObject,
  current: Json.JsonObject,
  options: WriteOptions
): ReadonlyArray<FieldError.FieldError> => {
  const ofChange = ObjectMetaValidation.validateUpdate(draft, current)
  const errors = [
    ...ObjectMetaValidation.validateExisting(kind, draft),
    ...ofChange,
    ...ObjectMetaValidation.revalidate(kind, draft),
    ...(kind.custom ? ofChange : ObjectMetaValidation.unqualifiedFinalizers(kind, draft)),
    ...strategy.validateUpdate(draft, current, options, ofChange)
  ]
  return kind.custom ? errors : distinct(errors)
}

const distinct = (errors: ReadonlyArray<FieldError.FieldError>): ReadonlyArray<FieldError.FieldError> => [
  ...new Map(errors.map((error) => [FieldError.sentence(error), error])).values()
]
