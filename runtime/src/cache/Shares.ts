/**
 * The memory that the objects of all kinds may take in a cache together. Other users choose how many objects they create, and each is within
 * the {@link Budget} of one object. When the cache is full, it keeps only name and version of the largest objects of the namespace that
 * takes most, until others fit. So a namespace that takes less than others never loses an object.
 *
 * The sizes are those that `Budget` counts: approximate bytes, with a constant for the entries of the store and its indexes.
 */
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import { type KubernetesObject, keyString } from "../resource/KubernetesObject.ts"
import * as Size from "./Size.ts"
import * as Transform from "./Transform.ts"

/** The bytes of an object's entries in the store and its indexes. */
const entryBytes = 512

/** Smaller objects stay: name and version take about as much. Their size is counted again when they go, in place of kept. */
const smallBytes = 2048

/** The part of the limit that stays in use when the cache makes room, and up to which it reads objects again. */
const lowWater = 0.95
const recovered = 0.9

/** The cache of one kind. */
export interface Member {
  /** The approximate bytes of an object that is about to be stored: see `Size.sizeOf`. */
  readonly sizeOf: (object: KubernetesObject) => number
  /** The keys of the stored objects of a namespace. */
  readonly keys: (namespace: string) => Iterable<string>
  /** Replaces stored objects by name and version. Absent if a reader cannot distinguish name and version from the whole object. */
  readonly shorten: ((keys: ReadonlyArray<string>) => void) | undefined
}

/** The part of one kind. */
export interface Share {
  /** The store replaced an object; `undefined` stands for none. */
  readonly replaced: (key: string, previous: KubernetesObject | undefined, object: KubernetesObject | undefined) => void
  /** The object to store: `kept`, or name and version if the cache is full and no namespace takes more. */
  readonly keep: (kept: KubernetesObject) => KubernetesObject
  /** The number of objects that are stored as name and version, because the cache was full. */
  readonly size: () => number
  /** The keys of such objects that fit again, in turn. */
  readonly fitting: (stored: (key: string) => KubernetesObject | undefined) => Iterable<string>
}

/** The memory of a cache. */
export interface Shares {
  readonly join: (member: Member) => Share
  /** Makes room if the cache is full. Call it after each change of a store. */
  readonly shed: () => void
  /** Waits until the cache keeps only name and version of some object. */
  readonly crowded: Effect.Effect<void>
  /** The bytes of all objects, and the most of them. */
  readonly total: () => number
  readonly limit: number
  /** The warning about objects that were shortened since the last call. */
  readonly warning: () => string | undefined
}

interface Part extends Member {
  /** The keys of the objects that are stored as name and version. */
  readonly crowded: Set<string>
  /** The bytes of the objects that are larger than {@link smallBytes}. */
  readonly sizes: Map<string, number>
}

const isSameVersion = ({ metadata: a }: KubernetesObject, { metadata: b }: KubernetesObject): boolean =>
  a.uid === b.uid && a.resourceVersion === b.resourceVersion

/**
 * Three eighths of the memory that the cgroup, or the machine, has for the process, in bytes. The rest is for decoded objects, responses and
 * the engine: 700 WebApps of 440 kB take some 300 MiB in 512.
 */
export const usual = (): number => Math.floor((process.constrainedMemory() * 3) / 8)

/** No objects. @param limit the bytes of all objects */
export const make = (limit: number): Shares => {
  const parts: Array<Part> = []
  const namespaces = new Map<string, number>()
  let total = 0
  /** Nothing is left to shorten below this total. */
  let exhausted = 0
  const crowding = Latch.makeUnsafe()
  let warned: string | undefined
  let warning: string | undefined

  const add = (namespace: string, bytes: number): void => {
    total += bytes
    const sum = (namespaces.get(namespace) ?? 0) + bytes
    if (sum > 0) namespaces.set(namespace, sum)
    else namespaces.delete(namespace)
  }

  const bytesOf = (object: KubernetesObject): number => entryBytes + Size.sizeOf(object)

  /** The namespace that takes most. Objects without a namespace belong to administrators, and stay. */
  const largest = (): { readonly namespace: string; readonly bytes: number; readonly next: number } => {
    let found = { namespace: "", bytes: 0, next: 0 }
    for (const [namespace, bytes] of namespaces) {
      if (namespace === "") continue
      if (bytes > found.bytes) found = { namespace, bytes, next: found.bytes }
      else if (bytes > found.next) found = { ...found, next: bytes }
    }
    return found
  }

  /** Shortens objects of a namespace, the largest first, until there is room or another namespace takes more. */
  const shorten = (namespace: string, excess: number): void => {
    const found: Array<{ readonly part: Part; readonly key: string; readonly bytes: number }> = []
    for (const part of parts) {
      if (part.sizes.size === 0 || part.shorten === undefined) continue
      for (const key of part.keys(namespace)) {
        const bytes = part.sizes.get(key)
        if (bytes !== undefined) found.push({ part, key, bytes })
      }
    }
    found.sort((one, other) => other.bytes - one.bytes)
    const chosen = new Map<Part, Array<string>>()
    let rest = excess
    for (const { bytes, key, part } of found) {
      if (rest <= 0) break
      rest -= bytes
      chosen.set(part, [...(chosen.get(part) ?? []), key])
    }
    for (const [part, keys] of chosen) part.shorten?.(keys)
  }

  const shed = (): void => {
    if (total <= limit) {
      exhausted = 0
      return
    }
    if (total <= exhausted) return
    for (let before = Number.POSITIVE_INFINITY; total > limit * lowWater && total < before; ) {
      before = total
      const { bytes, namespace, next } = largest()
      if (namespace === "") break
      // At least a little, when two namespaces take the same.
      shorten(namespace, Math.min(total - limit * lowWater, Math.max(bytes - next, limit * (1 - lowWater))))
      if (namespace !== warned) {
        warned = namespace
        warning = `the cache is full (${limit} bytes), and keeps only name and version of the largest objects of namespace ${namespace}, which takes most of it: ${bytes} bytes (delete objects, or raise --cache-memory; homeostat_cache_objects_too_large counts such objects)`
      }
    }
    exhausted = total > limit ? total + limit * (1 - lowWater) : 0
  }

  const isFull = (namespace: string, bytes: number): boolean => {
    if (namespace === "" || bytes <= 0 || total + bytes <= limit) return false
    const own = (namespaces.get(namespace) ?? 0) + bytes
    for (const [other, taken] of namespaces) if (other !== namespace && taken > own) return false
    return true
  }

  return {
    shed,
    crowded: Effect.suspend(() => {
      if (parts.every(({ crowded }) => crowded.size === 0)) crowding.closeUnsafe()
      return crowding.await
    }),
    total: () => total,
    limit,
    warning: () => {
      const taken = warning
      warning = undefined
      return taken
    },
    join: (member) => {
      const sizes = new Map<string, number>()
      const crowded = new Set<string>()
      parts.push({ ...member, sizes, crowded })
      return {
        replaced: (key, previous, object) => {
          const { namespace = "" } = (object ?? previous)?.metadata ?? {}
          const before = previous === undefined ? 0 : (sizes.get(key) ?? bytesOf(previous))
          if (object === undefined) {
            sizes.delete(key)
            crowded.delete(key)
            return add(namespace, -before)
          }
          const isCrowded = Transform.crowdedBytes(object) !== undefined
          if (isCrowded) {
            crowded.add(key)
            crowding.openUnsafe()
          } else if (crowded.size > 0) crowded.delete(key)
          // The watch delivers the object that an own write has stored.
          const isKnown =
            !isCrowded && previous !== undefined && isSameVersion(previous, object) && previous.kind === object.kind
          const bytes = isKnown ? before : entryBytes + member.sizeOf(object)
          if (bytes > smallBytes && !isCrowded) sizes.set(key, bytes)
          else sizes.delete(key)
          if (bytes !== before) add(namespace, bytes - before)
        },
        keep: (kept) => {
          if (member.shorten === undefined || total + Size.mostBytes <= limit) return kept
          const bytes = bytesOf(kept)
          if (bytes <= smallBytes) return kept
          const known = sizes.get(keyString(kept.metadata)) ?? 0
          return isFull(kept.metadata.namespace ?? "", bytes - known) ? Transform.crowded(kept, bytes) : kept
        },
        size: () => crowded.size,
        fitting: function* (stored) {
          for (const key of Array.from(crowded)) {
            const object = stored(key)
            const bytes = object === undefined ? undefined : Transform.crowdedBytes(object)
            if (object === undefined || bytes === undefined) continue
            const own = (namespaces.get(object.metadata.namespace ?? "") ?? 0) + bytes
            if (total + bytes <= limit * recovered || own < largest().bytes * recovered) yield key
          }
        }
      }
    }
  }
}
