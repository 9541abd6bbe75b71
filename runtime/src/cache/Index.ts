/**
 * An index over cached objects: from a value to the keys of the objects that have it, kept up to date as they change.
 */
import * as Data from "effect/Data"
import type { KubernetesObject } from "../resource/KubernetesObject.ts"
import * as Resource from "../resource/Resource.ts"

/**
 * An index: its name, and the values of an object.
 *
 * `values` gets the wire object and must depend on it alone: the store calls it again for the previous object when it replaces
 * the object. `values` may return duplicates, and an empty array for objects to leave out. An object for which `values` throws is
 * not in the index.
 */
export interface Definition {
  readonly name: string
  readonly values: (object: KubernetesObject) => ReadonlyArray<string>
}

/** Two indexes of one kind have the same name and different functions. */
export class Conflict extends Data.TaggedError("IndexConflict")<{ readonly message: string }> {}

/** Notes the indexes by kind and name: reads of a kind search the informers of all its selectors. Throws {@link Conflict}. */
export const registry = (): ((resource: Resource.Any, definition: Definition) => void) => {
  const definitions = new Map<string, Definition>()
  return (resource, definition) => {
    const place = `${Resource.identityOf(resource)} ${definition.name}`
    const existing = definitions.get(place) ?? definition
    if (existing.values !== definition.values) {
      throw new Conflict({ message: `two definitions of index "${definition.name}" (share one, or rename one)` })
    }
    definitions.set(place, existing)
  }
}

/** An index in use. */
export interface Index {
  /** The object at `key` was `previous` and is now `current`; either may be absent. */
  readonly replace: (key: string, previous: KubernetesObject | undefined, current: KubernetesObject | undefined) => void
  /** The keys of the objects that have `value`. Valid until the next change. */
  readonly keys: (value: string) => Iterable<string>
  /** How many values are in use. */
  readonly size: () => number
}

/** The keys of a value that no object has. */
export const nothing: ReadonlyArray<string> = []

const equal = (a: ReadonlyArray<string>, b: ReadonlyArray<string>): boolean => {
  if (a === b) return true
  if (a.length !== b.length) return false
  for (let index = 0; index < a.length; index++) if (a[index] !== b[index]) return false
  return true
}

/** An empty index. */
export const make = (definition: Definition): Index => {
  // Most owners have one child of a kind: a bare key instead of a Set of one saves about 200 bytes for each.
  const buckets = new Map<string, string | Set<string>>()

  const insert = (value: string, key: string): void => {
    const bucket = buckets.get(value)
    if (bucket === undefined) buckets.set(value, key)
    else if (typeof bucket !== "string") bucket.add(key)
    else if (bucket !== key) buckets.set(value, new Set([bucket, key]))
  }
  const remove = (value: string, key: string): void => {
    const bucket = buckets.get(value)
    if (bucket === undefined) return
    if (typeof bucket === "string") {
      if (bucket === key) buckets.delete(value)
    } else if (bucket.delete(key) && bucket.size === 0) buckets.delete(value)
  }

  const valuesOf = (object: KubernetesObject | undefined): ReadonlyArray<string> => {
    if (object === undefined) return nothing
    try {
      return definition.values(object)
    } catch {
      return nothing
    }
  }

  return {
    replace: (key, previous, current) => {
      const before = valuesOf(previous)
      const after = valuesOf(current)
      if (equal(before, after)) return
      for (const value of before) remove(value, key)
      for (const value of after) insert(value, key)
    },
    keys: (value) => {
      const bucket = buckets.get(value)
      return bucket === undefined ? nothing : typeof bucket === "string" ? [bucket] : bucket
    },
    size: () => buckets.size
  }
}

/** The name of the index by namespace, which every store has. */
export const namespaceName = "namespace"

/** The name of the index by the UID of each owner, which every store has. */
export const ownerName = "owner"

/** By namespace; cluster-scoped objects are not in it. */
export const byNamespace: Definition = {
  name: namespaceName,
  values: ({ metadata: { namespace } }) => (namespace === undefined || namespace === "" ? nothing : [namespace])
}

/** By the UID of every owner, controlling or not. */
export const byOwner: Definition = {
  name: ownerName,
  values: ({ metadata: { ownerReferences } }) =>
    ownerReferences === undefined || ownerReferences.length === 0 ? nothing : ownerReferences.map(({ uid }) => uid)
}
