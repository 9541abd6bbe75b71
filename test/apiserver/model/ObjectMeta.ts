/**
 * The metadata of objects: its fields, owner references, and the fields that the server sets.
 */

import * as Failure from "./Failure.ts"
import {
  at,
  copy,
  type DraftObject,
  type Json,
  type JsonObject,
  list,
  member,
  object,
  objects,
  text,
  texts
} from "./Json.ts"
import type { Kind } from "./Kind.ts"

/** Returns `metadata.name`; empty if the object has none. */
export const nameOf = (of: JsonObject): string => text(at(of, "metadata", "name")) ?? ""

/** Returns `metadata.namespace`; empty if the object has none. */
export const namespaceOf = (of: JsonObject): string => text(at(of, "metadata", "namespace")) ?? ""

/** Returns `metadata.uid`; empty if the object has none. */
export const uidOf = (of: JsonObject): string => text(at(of, "metadata", "uid")) ?? ""

/** Returns the labels; empty if the object has none. */
export const labelsOf = (of: JsonObject): { readonly [name: string]: string } => texts(at(of, "metadata", "labels"))

/** Returns the annotations; empty if the object has none. */
export const annotationsOf = (of: JsonObject): { readonly [name: string]: string } =>
  texts(at(of, "metadata", "annotations"))

/** Returns the finalizers; empty if the object has none. */
export const finalizersOf = (of: JsonObject): ReadonlyArray<string> =>
  list(at(of, "metadata", "finalizers")).filter((item) => typeof item === "string")

/** Reports whether the object has a deletionTimestamp. */
export const isDeleting = (of: JsonObject): boolean => at(of, "metadata", "deletionTimestamp") != null

/** Returns the key of an object. Keys sort like those of etcd. */
export const keyOf = (namespace: string, name: string): string => (namespace === "" ? name : `${namespace}/${name}`)

/** Returns the key of an object in the store and in the work queues of most controllers: `namespace/name`. */
export const keyOfObject = (of: JsonObject): string => {
  const { name, namespace } = object(of.metadata)
  return keyOf(text(namespace) ?? "", text(name) ?? "")
}

/** Splits a key into the namespace (possibly empty) and the name. */
export const ofKey = (key: string): readonly [namespace: string, name: string] => {
  const slash = key.indexOf("/")
  return [key.slice(0, Math.max(slash, 0)), key.slice(slash + 1)]
}

/** Returns the owner references; empty if the object has none. */
export const ownersOf = (of: JsonObject): ReadonlyArray<JsonObject> => objects(at(of, "metadata", "ownerReferences"))

/** Returns the owner reference of the controller, or undefined if the object has none. */
export const controllerOf = (of: JsonObject): JsonObject | undefined =>
  ownersOf(of).find(({ controller }) => controller === true)

/** Reports whether `owner` is the controller of the object, by uid. */
export const isControlledBy = (of: JsonObject, owner: JsonObject): boolean => controllerOf(of)?.uid === uidOf(owner)

/** Returns an owner reference that makes `owner` the controller. */
export const controllerReference = (owner: JsonObject): DraftObject => ({
  apiVersion: text(owner.apiVersion) ?? "",
  kind: text(owner.kind) ?? "",
  name: nameOf(owner),
  uid: uidOf(owner),
  controller: true,
  blockOwnerDeletion: true
})

/** Returns the key of the controller, or undefined if the controller is not of this kind. */
export const controllerKey = (of: JsonObject, apiVersion: string, kind: string): string | undefined => {
  const controller = controllerOf(of)
  return controller?.kind === kind && controller.apiVersion === apiVersion
    ? keyOf(namespaceOf(of), text(controller.name) ?? "")
    : undefined
}

/**
 * Returns a merge patch that sets the owner references. The uid restricts the patch to this object, not a later one of the
 * same name.
 */
export const ownersPatch = (of: JsonObject, owners: ReadonlyArray<JsonObject>): JsonObject => ({
  metadata: { uid: uidOf(of), ownerReferences: owners.length === 0 ? null : owners }
})

/** Returns a merge patch that removes a finalizer. */
export const finalizerPatch = (of: JsonObject, finalizer: string): JsonObject => {
  const finalizers = finalizersOf(of).filter((one) => one !== finalizer)
  return { metadata: { uid: uidOf(of), finalizers: finalizers.length === 0 ? null : finalizers } }
}

/** Returns the object with these metadata fields changed. */
export const withMetadata = (of: JsonObject, changed: JsonObject): JsonObject => ({
  ...of,
  metadata: { ...object(of.metadata), ...changed }
})

/** Parses a time into milliseconds since 1970; undefined if the value is not a time. */
export const millisOf = (value: Json | undefined): number | undefined => {
  const millis = typeof value === "string" ? Date.parse(value) : Number.NaN
  return Number.isNaN(millis) ? undefined : millis
}

/** Returns the creationTimestamp in milliseconds since 1970; 0 if the object has none. */
export const createdAt = (of: JsonObject): number => millisOf(at(of, "metadata", "creationTimestamp")) ?? 0

/** Returns the prefix of the names that a controller generates for its objects. A hyphen follows the owner's name if there is room. */
export const prefixOf = (owner: string): string => (owner.length < 253 ? `${owner}-` : owner)

/** The finalizer with which the garbage collector keeps an owner until its dependents are deleted. */
export const foregroundDeletion = "foregroundDeletion"
/** The finalizer with which the garbage collector keeps an owner until its dependents no longer refer to it. */
export const orphan = "orphan"

/** The finalizer that keeps a CustomResourceDefinition until its objects are deleted. */
export const cleanup = "customresourcecleanup.apiextensions.k8s.io"

/** Returns the metadata of a draft for writing. */
export const draftOf = (draft: DraftObject): DraftObject => member(draft, "metadata")

/** Removes the fields that only the server sets. */
export const wipeSystemFields = (metadata: DraftObject): void => {
  for (const field of ["creationTimestamp", "uid", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"]) {
    delete metadata[field]
  }
}

/** Sets the namespace of the request. Throws a Failure (400) if the object has another namespace. */
export const ensureNamespace = (kind: Kind, metadata: DraftObject, namespace: string): void => {
  if (!kind.namespaced) delete metadata.namespace
  else if (metadata.namespace === undefined || metadata.namespace === "") metadata.namespace = namespace
  else if (metadata.namespace !== namespace) {
    throw Failure.badRequest("the namespace of the provided object does not match the namespace sent on the request")
  }
}

/** Throws a Failure (400) if the name of the object differs from that of the request. */
export const checkName = (object: JsonObject, requested: string): void => {
  const own = nameOf(object)
  if (own === requested) return
  throw Failure.badRequest(
    own === ""
      ? `the name of the object (${requested} based on URL) was undeterminable: name must be provided`
      : `the name of the object (${own}) does not match the name on the URL (${requested})`
  )
}

/** Removes duplicate owner references. Warns if the body, or with `patched` the patched object, contains duplicates. */
export const dedupOwnerReferences = (metadata: DraftObject, warn: (text: string) => void, patched = false): void => {
  const owners = objects(metadata.ownerReferences)
  const kept = new Map<string, JsonObject>()
  const twice: Array<string> = []
  for (const owner of owners) {
    const written = JSON.stringify(ownerAsGo(owner))
    if (kept.has(written)) twice.push(text(owner.uid) ?? "")
    else kept.set(written, owner)
  }
  if (twice.length === 0) return
  metadata.ownerReferences = [...kept.values()].map((owner) => copy(owner))
  warn(
    `.metadata.ownerReferences contains duplicate entries${patched ? " after mutating admission happens" : ""}; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: ${twice.join(", ")}`
  )
}

/** Returns an owner reference with its fields in the order of the Go type. */
export const ownerAsGo = ({ apiVersion, blockOwnerDeletion, controller, kind, name, uid }: JsonObject): JsonObject => ({
  apiVersion,
  kind,
  name,
  uid,
  controller,
  blockOwnerDeletion
})
