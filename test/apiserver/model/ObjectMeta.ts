/**
 * What is read of the metadata of objects, and the references by which one owns another.
 */

import { at, type DraftObject, type Json, type JsonObject, list, object, objects, text, texts } from "./Json.ts"

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
export const keyOfObject = (of: JsonObject): string => keyOf(namespaceOf(of), nameOf(of))

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
