/**
 * What the answer to a write says about a kind that is cached: the object as it now is, that it left the cache, or that it
 * is gone.
 */
import type { Write } from "../client/Writes.ts"
import { type KubernetesObject, keyString, type ObjectMeta } from "../resource/KubernetesObject.ts"
import type * as Resource from "../resource/Resource.ts"
import type { LabelSelector } from "./LabelSelector.ts"

/** What a write means to a cache. */
export type Meaning =
  | { readonly _tag: "Present"; readonly key: string; readonly object: KubernetesObject }
  | { readonly _tag: "Outside"; readonly key: string; readonly resourceVersion: string }
  | {
      readonly _tag: "Removed"
      readonly key: string
      readonly uid: string
      readonly resourceVersion: string | undefined
    }

/** What is cached. `matches` is absent when its selector is one that only the server can decide. */
export interface Scope {
  readonly resource: Resource.Any
  readonly matches: LabelSelector | undefined
}

/** Whether the API server removed the object in the request that answered with it. */
const isRemoved = (write: Write, { metadata }: KubernetesObject): boolean => {
  // Kinds such as Service answer a deletion with the last state of what was removed at once.
  if (metadata.deletionTimestamp === undefined) return write.verb === "delete"
  // A Namespace is held by `spec.finalizers` as well, and only its own controller takes those off.
  const holdsItself = write.resource.group === "" && write.resource.plural === "namespaces"
  return (
    !holdsItself &&
    (metadata.finalizers === undefined || metadata.finalizers.length === 0) &&
    (metadata.deletionGracePeriodSeconds ?? 0) === 0
  )
}

/** The object as a cache holds it: a copy without managedFields, as the writer has the answer too. */
const strip = (object: KubernetesObject): KubernetesObject => {
  const { managedFields, ...rest } = object.metadata
  const metadata: ObjectMeta = rest
  return managedFields === undefined ? object : { ...object, metadata }
}

const project = (object: KubernetesObject): KubernetesObject => ({
  apiVersion: "meta.k8s.io/v1",
  kind: "PartialObjectMetadata",
  metadata: strip(object).metadata
})

/** Whether the answer is the object in the shape that `resource` has. A kind without a name is believed to be what was asked for. */
const isWhole = (write: Write, object: KubernetesObject, resource: Resource.Any): boolean =>
  write.resource.version === resource.version &&
  (object.kind === undefined ? write.resource.projection === "full" : object.kind === resource.kind)

/**
 * What `write` says about the kind in `scope`; `undefined` if nothing certain.
 *
 * Another version of the kind has the same metadata but another shape, and metadata alone is not the object: such answers
 * change a metadata-only cache, and no other. Deletions count for every version. Of subresources, only `status` answers
 * with the object.
 */
export const meaning = (write: Write, scope: Scope): Meaning | undefined => {
  const { resource } = scope
  if (write.resource.plural !== resource.plural || write.resource.group !== resource.group) return undefined
  if (write.subresource !== undefined && write.subresource !== "status") return undefined
  const object = write.object
  if (object === undefined) {
    return write.verb === "delete" && write.uid !== undefined
      ? { _tag: "Removed", key: keyString(write.key), uid: write.uid, resourceVersion: undefined }
      : undefined
  }
  const { uid, resourceVersion } = object.metadata
  const key = keyString(object.metadata)
  if (isRemoved(write, object)) return { _tag: "Removed", key, uid, resourceVersion }
  if (scope.matches === undefined) return undefined
  if (!scope.matches(object.metadata.labels)) return { _tag: "Outside", key, resourceVersion }
  if (resource.projection === "metadata") return { _tag: "Present", key, object: project(object) }
  return isWhole(write, object, resource) ? { _tag: "Present", key, object: strip(object) } : undefined
}
