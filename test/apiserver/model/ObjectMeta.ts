/**
 * The metadata of objects: its fields, the references to owners, and the fields that the server sets.
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

/** The name. */
export const nameOf = (of: JsonObject): string => text(at(of, "metadata", "name")) ?? ""

/** The namespace; empty where there is none. */
export const namespaceOf = (of: JsonObject): string => text(at(of, "metadata", "namespace")) ?? ""

/** The uid. */
export const uidOf = (of: JsonObject): string => text(at(of, "metadata", "uid")) ?? ""

/** The labels. */
export const labelsOf = (of: JsonObject): { readonly [name: string]: string } => texts(at(of, "metadata", "labels"))

/** The annotations. */
export const annotationsOf = (of: JsonObject): { readonly [name: string]: string } =>
  texts(at(of, "metadata", "annotations"))

/** The finalizers. */
export const finalizersOf = (of: JsonObject): ReadonlyArray<string> =>
  list(at(of, "metadata", "finalizers")).filter((item) => typeof item === "string")

/** Whether it is being deleted. */
export const isDeleting = (of: JsonObject): boolean => at(of, "metadata", "deletionTimestamp") != null

/** The key of an object; keys sort as etcd's do. */
export const keyOf = (namespace: string, name: string): string => (namespace === "" ? name : `${namespace}/${name}`)

/** `namespace/name`: the key in the store, and of most controllers. */
export const keyOfObject = (of: JsonObject): string => {
  const { name, namespace } = object(of.metadata)
  return keyOf(text(namespace) ?? "", text(name) ?? "")
}

/** The namespace and the name of a key. */
export const ofKey = (key: string): readonly [namespace: string, name: string] => {
  const slash = key.indexOf("/")
  return [key.slice(0, Math.max(slash, 0)), key.slice(slash + 1)]
}

/** The references to owners. */
export const ownersOf = (of: JsonObject): ReadonlyArray<JsonObject> => objects(at(of, "metadata", "ownerReferences"))

/** The reference to the owner that manages it. */
export const controllerOf = (of: JsonObject): JsonObject | undefined =>
  ownersOf(of).find(({ controller }) => controller === true)

/** Whether that object manages it. */
export const isControlledBy = (of: JsonObject, owner: JsonObject): boolean => controllerOf(of)?.uid === uidOf(owner)

/** The reference to an owner that manages what it makes. */
export const controllerReference = (owner: JsonObject): DraftObject => ({
  apiVersion: text(owner.apiVersion) ?? "",
  kind: text(owner.kind) ?? "",
  name: nameOf(owner),
  uid: uidOf(owner),
  controller: true,
  blockOwnerDeletion: true
})

/** The key of the owner of that kind that manages it. */
export const controllerKey = (of: JsonObject, apiVersion: string, kind: string): string | undefined => {
  const controller = controllerOf(of)
  return controller?.kind === kind && controller.apiVersion === apiVersion
    ? keyOf(namespaceOf(of), text(controller.name) ?? "")
    : undefined
}

/** The patch that leaves these owners. The uid makes it one of this very object. */
export const ownersPatch = (of: JsonObject, owners: ReadonlyArray<JsonObject>): JsonObject => ({
  metadata: { uid: uidOf(of), ownerReferences: owners.length === 0 ? null : owners }
})

/** The patch that takes a finalizer away. */
export const finalizerPatch = (of: JsonObject, finalizer: string): JsonObject => {
  const finalizers = finalizersOf(of).filter((one) => one !== finalizer)
  return { metadata: { uid: uidOf(of), finalizers: finalizers.length === 0 ? null : finalizers } }
}

/** The object with other metadata. */
export const withMetadata = (of: JsonObject, changed: JsonObject): JsonObject => ({
  ...of,
  metadata: { ...object(of.metadata), ...changed }
})

/** The milliseconds of a time; undefined where there is none. */
export const millisOf = (value: Json | undefined): number | undefined => {
  const millis = typeof value === "string" ? Date.parse(value) : Number.NaN
  return Number.isNaN(millis) ? undefined : millis
}

/** When it was made. */
export const createdAt = (of: JsonObject): number => millisOf(at(of, "metadata", "creationTimestamp")) ?? 0

/** The start of the generated names of what an owner makes: a dash is added where the name leaves room for it. */
export const prefixOf = (owner: string): string => (owner.length < 253 ? `${owner}-` : owner)

/** The finalizer by which the garbage collector keeps an owner until its dependents are gone. */
export const foregroundDeletion = "foregroundDeletion"
/** The finalizer by which it keeps an owner until its dependents know of it no more. */
export const orphan = "orphan"

/** The finalizer by which a CustomResourceDefinition stays until its objects are gone. */
export const cleanup = "customresourcecleanup.apiextensions.k8s.io"

/** The metadata of an object that is being made. */
export const draftOf = (draft: DraftObject): DraftObject => member(draft, "metadata")

/** Forgets what only the server sets. */
export const wipeSystemFields = (metadata: DraftObject): void => {
  for (const field of ["creationTimestamp", "uid", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"]) {
    delete metadata[field]
  }
}

/** Puts an object where the request says. Throws a Failure (400) when the object says otherwise. */
export const ensureNamespace = (kind: Kind, metadata: DraftObject, namespace: string): void => {
  if (!kind.namespaced) delete metadata.namespace
  else if (metadata.namespace === undefined || metadata.namespace === "") metadata.namespace = namespace
  else if (metadata.namespace !== namespace) {
    throw Failure.badRequest("the namespace of the provided object does not match the namespace sent on the request")
  }
}

/** Whether the name of the object is that of the request. Throws a Failure (400) when it is not. */
export const checkName = (object: JsonObject, requested: string): void => {
  const own = nameOf(object)
  if (own === requested) return
  throw Failure.badRequest(
    own === ""
      ? `the name of the object (${requested} based on URL) was undeterminable: name must be provided`
      : `the name of the object (${own}) does not match the name on the URL (${requested})`
  )
}

/** Names every owner once; says so if one was named twice, by the body or by what a patch has made of the object. */
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

/** In the order in which Go's type has its fields. */
export const ownerAsGo = ({ apiVersion, blockOwnerDeletion, controller, kind, name, uid }: JsonObject): JsonObject => ({
  apiVersion,
  kind,
  name,
  uid,
  controller,
  blockOwnerDeletion
})
