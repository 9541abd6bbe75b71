/**
 * The effect of an answered write on a cached kind: the object has a new state, no longer matches the selector, or is gone.
 */
import type { Write } from "../client/WriteBroadcaster.ts"
import { type KubernetesObject, keyString, type ObjectMeta } from "../resource/KubernetesObject.ts"
import type * as Resource from "../resource/Resource.ts"
import type { LabelSelector } from "./LabelSelector.ts"

/** The effect of a write on a cache. */
export type WriteEffect =
  | { readonly _tag: "Present"; readonly key: string; readonly object: KubernetesObject }
  | { readonly _tag: "Outside"; readonly key: string; readonly resourceVersion: string }
  | {
      readonly _tag: "Removed"
      readonly key: string
      readonly uid: string
      readonly resourceVersion: string | undefined
    }

/** The cached kind. `matches` is absent if only the server can evaluate the selector. */
export interface CachedKind {
  readonly resource: Resource.Any
  readonly matches: LabelSelector | undefined
}

/** Whether the request removed the object that its answer contains. */
const isRemoved = (write: Write, { metadata }: KubernetesObject): boolean => {
  // Kinds such as Service answer a deletion with the last state of the removed object.
  if (metadata.deletionTimestamp === undefined) return write.verb === "delete"
  // `spec.finalizers` also keep a Namespace, and only the namespace controller removes them.
  const holdsItself = write.resource.group === "" && write.resource.plural === "namespaces"
  return (
    !holdsItself &&
    (metadata.finalizers === undefined || metadata.finalizers.length === 0) &&
    (metadata.deletionGracePeriodSeconds ?? 0) === 0
  )
}

/** A copy without managedFields. The writer keeps the original. */
export const strip = (object: KubernetesObject): KubernetesObject => {
  const { managedFields, ...rest } = object.metadata
  const metadata: ObjectMeta = rest
  return managedFields === undefined ? object : { ...object, metadata }
}

/** The metadata of an object, as the server sends it for a kind with metadata only. */
export const project = (object: KubernetesObject): KubernetesObject => ({
  apiVersion: "meta.k8s.io/v1",
  kind: "PartialObjectMetadata",
  metadata: strip(object).metadata
})

/** Whether the answer has the version and kind of `resource`. An answer without a kind has the kind of the request. */
const isWhole = (write: Write, object: KubernetesObject, resource: Resource.Any): boolean =>
  write.resource.version === resource.version &&
  (object.kind === undefined ? write.resource.projection === "full" : object.kind === resource.kind)

/**
 * The effect of `write` on the kind in `kind`; `undefined` if the answer does not decide it.
 *
 * An answer in another version, or with metadata alone, changes only a metadata-only cache. Deletions count for every version. Among
 * subresources, only `status` answers with the object.
 */
export const of = (write: Write, kind: CachedKind): WriteEffect | undefined => {
  const { resource } = kind
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
  if (kind.matches === undefined) return undefined
  if (!kind.matches(object.metadata.labels)) return { _tag: "Outside", key, resourceVersion }
  if (resource.projection === "metadata") return { _tag: "Present", key, object: project(object) }
  return isWhole(write, object, resource) ? { _tag: "Present", key, object: strip(object) } : undefined
}
