/**
 * The reads of the cache in a reconcile, for its recording. A read keeps the objects of the cache themselves. They never change, so a read
 * costs pointers and no copy.
 */
import type { KubernetesObject } from "../resource/KubernetesObject.ts"
import type * as Resource from "../resource/Resource.ts"

/** A read of the cache. */
export interface CachedRead {
  readonly verb: "get" | "list" | "byOwner"
  readonly resource: Resource.Any
  /** The key of an object as `namespace/name`, the filter of a list, or the owner. */
  readonly of: string | object | undefined
  /** Undefined if the cache has no such object. */
  readonly found: KubernetesObject | ReadonlyArray<KubernetesObject> | undefined
}

/** The most reads that the record of a reconcile keeps. It keeps the first ones. */
export const most = 1000

/** The reads of one reconcile. */
export interface CachedReads {
  /** In the order of the reads, up to {@link most}. */
  readonly kept: ReadonlyArray<CachedRead>
  /** The number of all reads. */
  readonly count: number
}

/** The record without reads. */
export const none: CachedReads = { kept: [], count: 0 }
