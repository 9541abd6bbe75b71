/**
 * The memory that one object may take in a cache. Objects belong to other users, who choose their size. The cache keeps name and version
 * of a larger object, as of an object that no controller owns: `Cache.get` reads it from the API server, and `Cache.list` leaves it out.
 */
import * as Bounded from "../resource/Bounded.ts"
import { type KubernetesObject, keyString } from "../resource/KubernetesObject.ts"
import type * as Resource from "../resource/Resource.ts"
import type { Share, Shares } from "./Shares.ts"
import * as Size from "./Size.ts"
import type { Change, Replaced, Table } from "./Store.ts"
import * as Transform from "./Transform.ts"

export { exceeds, mostBytes } from "./Size.ts"

/** The bytes of an object that no controller owns, for transforms: the parts that a controller reads of such an object are small. */
export const foreignBytes = 10 * 1024

/** The bytes of the metadata of a larger object. Without more, it keeps labels and owner, so that its controller can delete it. */
const mostMetadata = 4096

/** The engine takes at most this many bytes for each character of JSON: see {@link Size.exceeds}. */
const bytesPerCharacter = 8

/** The objects of an informer that are larger than the budget. */
export interface Budget {
  /**
   * The object that the cache stores.
   *
   * @param kept what the transform has left of `object`
   * @param length the characters that the API server sent for it, or for a page with it; absent if unknown
   */
  readonly keep: (object: KubernetesObject, kept: KubernetesObject, length?: number) => KubernetesObject
  /** Takes the changes of the store. */
  readonly changed: (changes: ReadonlyArray<Change>) => void
  /** For the store of the informer. */
  readonly replaced: Replaced | undefined
  /** The keys of objects of which the store has name and version, because the cache was full, and which fit again. */
  readonly fitting: Share["fitting"]
  /** The number of larger objects, and of objects that did not fit into the cache. */
  readonly size: () => number
  /** The warnings about these objects since the last call. */
  readonly warnings: () => ReadonlyArray<string>
}

/** The log names this many larger objects of a kind. The metric counts all of them. */
const mostNamed = 10

/** The store of an informer, and how it replaces objects by other forms of their versions. */
export interface Stored {
  readonly shares: Shares
  readonly table: () => Pick<Table, "get" | "keys">
  readonly exchange: (objects: ReadonlyArray<KubernetesObject>) => void
}

const joined = (
  { projection }: Resource.Any,
  { exchange, shares, table }: Stored,
  sizeOf: (object: KubernetesObject) => number
): Share =>
  shares.join({
    sizeOf,
    keys: (namespace) => table().keys(namespace),
    shorten:
      projection === "metadata"
        ? undefined
        : (keys) =>
            exchange(
              keys.flatMap((key) => {
                const object = table().get(key)
                return object === undefined ? [] : Transform.crowded(object, Size.sizeOf(object))
              })
            )
  })

/** The budget of an informer. */
export const make = (resource: Resource.Any, most: number = Size.mostBytes, stored?: Stored): Budget => {
  /** The sizes of objects on their way to the store, so that it does not count them again. */
  const counted = new WeakMap<KubernetesObject, number>()
  const share =
    stored &&
    joined(resource, stored, (object) => {
      const size = counted.get(object)
      if (size === undefined) return Size.sizeOf(object)
      counted.delete(object)
      return size
    })
  const stubs = new WeakSet<KubernetesObject>()
  const larger = new Set<string>()
  const named = new Map<string, true>()
  let warnings: Array<string> = []

  const warn = (key: string): void => {
    if (named.has(key) || larger.size > mostNamed) return
    Bounded.put(named, key, true, mostNamed)
    warnings.push(
      `the cache keeps only name and version of ${resource.kind} ${key}: it takes more than ${most} bytes (make it smaller; homeostat_cache_objects_too_large counts such objects)`
    )
  }

  return {
    keep: (object, kept, length) => {
      if (length !== undefined && length * bytesPerCharacter <= most) return share?.keep(kept) ?? kept
      // Once, because the engine lists all keys of an object before the first one.
      const withMetadata = Size.left(kept.metadata, most)
      const rest = withMetadata < 0 ? withMetadata : Size.left(kept, withMetadata, "metadata")
      if (rest >= 0) {
        if (share === undefined) return kept
        counted.set(kept, most - rest + Size.ofField("metadata"))
        return share.keep(kept)
      }
      const existence = Transform.existence(object)
      const partial = most - withMetadata > mostMetadata ? existence : { ...existence, metadata: kept.metadata }
      const key = keyString(object.metadata)
      stubs.add(partial)
      larger.add(key)
      warn(key)
      return partial
    },
    changed: (changes) => {
      if (larger.size === 0) return
      for (const { object, type } of changes)
        if (type === "deleted" || !stubs.has(object)) larger.delete(keyString(object.metadata))
    },
    replaced: share?.replaced,
    fitting: (stored) => share?.fitting(stored) ?? [],
    size: () => larger.size + (share?.size() ?? 0),
    warnings: () => {
      const full = stored?.shares.warning()
      if (full !== undefined) warnings.push(full)
      if (warnings.length === 0) return warnings
      const taken = warnings
      warnings = []
      return taken
    }
  }
}
