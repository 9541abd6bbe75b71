/**
 * The stored objects and the order of their changes. As in etcd, all kinds share one revision. Each write increments it, and
 * the written object gets it as its resourceVersion. The store keeps a bounded history of changes: watches continue from it,
 * and lists of an earlier revision undo its changes.
 *
 * Stored objects are immutable, so a reader may keep them.
 */
import type { JsonObject } from "../model/Json.ts"
import { equal, object, text } from "../model/Json.ts"
import * as ObjectIndex from "../model/ObjectIndex.ts"
import { keyOf, keyOfObject } from "../model/ObjectMeta.ts"

/** A write of one object. */
export interface Change {
  readonly revision: number
  readonly type: "ADDED" | "MODIFIED" | "DELETED"
  readonly storage: string
  /** The object after the write. A deleted object has its last state, with the revision of the deletion as resourceVersion. */
  readonly object: JsonObject
  /** The object before the write; undefined for a new object. */
  readonly previous: JsonObject | undefined
}

/** Called synchronously after each change. A listener must not write. */
export type Listener = (change: Change) => void

/** A store of objects. The namespace of a cluster-scoped object is empty. */
export interface Store {
  /** The revision of the last change. */
  readonly revision: number
  /** The history contains the changes after this revision. */
  readonly oldest: number
  readonly get: (storage: string, namespace: string, name: string) => JsonObject | undefined
  /** Lists all objects or those of one namespace, sorted by namespace and name. */
  readonly list: (storage: string, namespace?: string) => ReadonlyArray<JsonObject>
  /** Lists the objects as of a revision; undefined if the history no longer contains the revision. */
  readonly listAt: (storage: string, revision: number, namespace?: string) => ReadonlyArray<JsonObject> | undefined
  /** Returns the values of all objects, by an index that the store creates for this function and then keeps current. */
  readonly values: (storage: string, valuesOf: ObjectIndex.ValuesOf) => ObjectIndex.Values
  /** Returns the changes after a revision; undefined if the history no longer contains them. */
  readonly changes: (storage: string, after: number) => ReadonlyArray<Change> | undefined
  /** Creates or replaces the object with its namespace and name. Returns the stored object. */
  readonly put: (storage: string, object: JsonObject) => JsonObject
  /**
   * The same, for the initial objects of a storage: without watches, the history does not keep the change. A later watch of an earlier revision
   * does not show it. The object keeps its resourceVersion, and later writes have higher ones.
   */
  readonly load: (storage: string, object: JsonObject) => JsonObject
  /** Deletes an object and returns its last state; undefined if the object does not exist. */
  readonly remove: (storage: string, namespace: string, name: string) => JsonObject | undefined
  /** Calls the listener for all changes, or for those of one storage. The returned function unsubscribes. */
  readonly subscribe: (listener: Listener, storage?: string) => () => void
  /** Returns all objects for a later `restore` or `make`. The history is not included: after a load, every older revision has expired. */
  readonly saved: () => Saved
  /**
   * Writes and removes objects until the store equals the saved state. Unchanged objects keep their resourceVersion. The
   * revision grows, so that watches continue with the differences.
   */
  readonly restore: (saved: Saved) => void
}

/** The content of a store as plain JSON. */
export interface Saved {
  readonly revision: number
  readonly storages: { readonly [storage: string]: ReadonlyArray<JsonObject> }
}

/** The options of a store. */
export interface Options {
  /** The minimum number of changes in the history. The default of 10,000 covers minutes of a busy test and some tens of megabytes. */
  readonly history?: number | undefined
  readonly saved?: Saved | undefined
}

/** The first revision of an empty store. It is higher than 1, so that revision 1 is before the history. */
const firstRevision = 100

/** The objects of one storage, their sorted keys, its indexes and its listeners. */
interface Shelf {
  readonly objects: Map<string, JsonObject>
  readonly keys: Array<string>
  readonly indexes: Map<ObjectIndex.ValuesOf, ObjectIndex.ObjectIndex>
  readonly listeners: Set<Listener>
}

/** Creates a store. */
export const make = (options: Options = {}): Store => {
  const history = options.history ?? 10_000
  const shelves = new Map<string, Shelf>()
  const everywhere = new Set<Listener>()
  const log: Array<Change> = []
  let revision = options.saved?.revision ?? firstRevision
  let oldest = revision

  const shelfOf = (storage: string): Shelf => {
    const found = shelves.get(storage)
    if (found !== undefined) return found
    const made: Shelf = { objects: new Map(), keys: [], indexes: new Map(), listeners: new Set() }
    shelves.set(storage, made)
    return made
  }

  for (const [storage, objects] of Object.entries(options.saved?.storages ?? {})) {
    const shelf = shelfOf(storage)
    for (const stored of objects) {
      const key = keyOfObject(stored)
      shelf.objects.set(key, stored)
      shelf.keys.push(key)
    }
    shelf.keys.sort(byCode)
  }

  const record = (shelf: Shelf, change: Change): void => {
    log.push(change)
    // Half of the history is dropped at once, so that the cost per write stays constant.
    if (log.length >= 2 * history) {
      const dropped = log.splice(0, log.length - history)
      oldest = dropped.at(-1)?.revision ?? oldest
    }
    for (const listener of [...shelf.listeners, ...everywhere]) listener(change)
  }

  const after = (wanted: number): ReadonlyArray<Change> | undefined =>
    wanted < oldest ? undefined : log.slice(firstAfter(log, wanted))

  const select = (shelf: Shelf, namespace: string | undefined): ReadonlyArray<JsonObject> => {
    const { keys, objects } = shelf
    const [from, to] =
      namespace === undefined ? [0, keys.length] : [indexOf(keys, `${namespace}/`), indexOf(keys, `${namespace}0`)]
    const selected: Array<JsonObject> = []
    for (let index = from; index < to; index++) {
      const stored = objects.get(keys[index] ?? "")
      if (stored !== undefined) selected.push(stored)
    }
    return selected
  }

  const put: Store["put"] = (storage, written) => {
    revision++
    return write(shelfOf(storage), storage, at(revision, written), true)
  }

  const write = (shelf: Shelf, storage: string, stored: JsonObject, isKept: boolean): JsonObject => {
    const key = keyOfObject(stored)
    const previous = shelf.objects.get(key)
    shelf.objects.set(key, stored)
    for (const index of shelf.indexes.values()) index.change(key, previous, stored)
    if (previous === undefined) shelf.keys.splice(indexOf(shelf.keys, key), 0, key)
    const type = previous === undefined ? "ADDED" : "MODIFIED"
    if (isKept) record(shelf, { revision, type, storage, object: stored, previous })
    return stored
  }

  const remove: Store["remove"] = (storage, namespace, name) => {
    const shelf = shelfOf(storage)
    const key = keyOf(namespace, name)
    const previous = shelf.objects.get(key)
    if (previous === undefined) return undefined
    revision++
    const last = at(revision, previous)
    shelf.objects.delete(key)
    for (const index of shelf.indexes.values()) index.change(key, previous, undefined)
    shelf.keys.splice(indexOf(shelf.keys, key), 1)
    record(shelf, { revision, type: "DELETED", storage, object: last, previous })
    return last
  }

  const restore: Store["restore"] = ({ storages }) => {
    for (const storage of new Set([...shelves.keys(), ...Object.keys(storages)])) {
      const wanted = new Map((storages[storage] ?? []).map((saved) => [keyOfObject(saved), saved]))
      for (const stored of select(shelfOf(storage), undefined).toReversed()) {
        const saved = wanted.get(keyOfObject(stored))
        if (saved !== undefined && uidOf(saved) === uidOf(stored)) continue
        const { name, namespace } = object(stored.metadata)
        remove(storage, text(namespace) ?? "", text(name) ?? "")
      }
      for (const [key, saved] of wanted) {
        const stored = shelfOf(storage).objects.get(key)
        if (stored !== saved && (stored === undefined || !isSame(stored, saved))) put(storage, saved)
      }
    }
  }

  return {
    get revision() {
      return revision
    },
    get oldest() {
      return oldest
    },
    get: (storage, namespace, name) => shelves.get(storage)?.objects.get(keyOf(namespace, name)),
    list: (storage, namespace) => {
      const shelf = shelves.get(storage)
      return shelf === undefined ? [] : select(shelf, namespace)
    },
    listAt: (storage, wanted, namespace) => {
      const undone = after(wanted)
      const shelf = shelves.get(storage)
      if (undone === undefined || shelf === undefined) return undone && []
      const objects = new Map(shelf.objects)
      for (const change of undone.toReversed()) {
        if (change.storage !== storage) continue
        const key = keyOfObject(change.object)
        if (change.previous === undefined) objects.delete(key)
        else objects.set(key, change.previous)
      }
      return select({ ...shelf, objects, keys: [...objects.keys()].sort(byCode) }, namespace)
    },
    values: (storage, valuesOf) => {
      const { indexes, objects } = shelfOf(storage)
      const found = indexes.get(valuesOf)
      if (found !== undefined) return found
      const made = ObjectIndex.make(valuesOf, objects)
      indexes.set(valuesOf, made)
      return made
    },
    changes: (storage, wanted) => after(wanted)?.filter((change) => change.storage === storage),
    put,
    load: (storage, written) => {
      const shelf = shelfOf(storage)
      const isKept = shelf.listeners.size > 0 || everywhere.size > 0
      const version = text(object(written.metadata).resourceVersion) ?? ""
      if (isKept || version === "") revision++
      const number = Number(version)
      if (Number.isSafeInteger(number) && number > revision) revision = number
      return write(shelf, storage, version === "" ? at(revision, written) : written, isKept)
    },
    remove,
    restore,
    subscribe: (listener, storage) => {
      const listeners = storage === undefined ? everywhere : shelfOf(storage).listeners
      listeners.add(listener)
      return () => {
        listeners.delete(listener)
      }
    },
    saved: () => ({
      revision,
      storages: Object.fromEntries([...shelves].map(([storage, shelf]) => [storage, select(shelf, undefined)]))
    })
  }
}

const uidOf = (stored: JsonObject): string | undefined => text(object(stored.metadata).uid)

/** Reports whether two states of an object differ only in their resourceVersion. */
const isSame = (one: JsonObject, other: JsonObject): boolean => equal(at(0, one), at(0, other))

/** Returns the object with a revision as its resourceVersion. */
const at = (revision: number, written: JsonObject): JsonObject => ({
  ...written,
  metadata: { ...object(written.metadata), resourceVersion: String(revision) }
})

const byCode = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0)

/** Returns the index of a key in the sorted keys, or the index at which it would be inserted. */
const indexOf = (keys: ReadonlyArray<string>, key: string): number =>
  lowest(keys.length, (index) => (keys[index] ?? "") >= key)

const firstAfter = (log: ReadonlyArray<Change>, revision: number): number =>
  lowest(log.length, (index) => (log[index]?.revision ?? 0) > revision)

/** Returns the lowest index for which `holds` is true. `holds` must also be true for all higher indexes. */
const lowest = (length: number, holds: (index: number) => boolean): number => {
  let low = 0
  let high = length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (holds(middle)) high = middle
    else low = middle + 1
  }
  return low
}
