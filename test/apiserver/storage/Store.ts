/**
 * The objects, and the order in which they changed: one revision for all kinds, as etcd has it. Every write adds one to it
 * and becomes the resourceVersion of what was written. A bounded number of changes is kept, by which a watch goes on where
 * another ended, and by undoing which a list shows an earlier moment.
 *
 * Nothing that is stored is ever changed, so that whoever reads an object may keep it.
 */
import type { JsonObject } from "../model/Json.ts"
import { equal, object, text } from "../model/Json.ts"
import { keyOf, keyOfObject } from "../model/ObjectMeta.ts"

/** One write. */
export interface Change {
  readonly revision: number
  readonly type: "ADDED" | "MODIFIED" | "DELETED"
  readonly storage: string
  /** As it is now; of a deleted object its last state, with the revision of its end as resourceVersion. */
  readonly object: JsonObject
  /** As it was before; undefined of an object that is new. */
  readonly previous: JsonObject | undefined
}

/** Hears of a change when it has happened. It must not write. */
export type Listener = (change: Change) => void

/** A store. An empty namespace is that of kinds which have none. */
export interface Store {
  /** The number of the last change. */
  readonly revision: number
  /** The changes after this one are kept. */
  readonly oldest: number
  readonly get: (storage: string, namespace: string, name: string) => JsonObject | undefined
  /** All objects, or those of one namespace, by namespace and name. */
  readonly list: (storage: string, namespace?: string) => ReadonlyArray<JsonObject>
  /** The same as it was at a revision; undefined when that is further back than the history reaches. */
  readonly listAt: (storage: string, revision: number, namespace?: string) => ReadonlyArray<JsonObject> | undefined
  /** The changes after a revision; undefined if the history no longer has them. */
  readonly changes: (storage: string, after: number) => ReadonlyArray<Change> | undefined
  /** Writes an object, new or not, at its namespace and name, and gives it as it is stored. */
  readonly put: (storage: string, object: JsonObject) => JsonObject
  /** Takes an object away and gives its last state; undefined when there is none. */
  readonly remove: (storage: string, namespace: string, name: string) => JsonObject | undefined
  /** Hears of all changes, or of those of one storage, until the returned function is called. */
  readonly subscribe: (listener: Listener, storage?: string) => () => void
  /** All there is, to be loaded again. Without history: watches from before the moment are too old. */
  readonly saved: () => Saved
  /**
   * Writes and removes objects until the store has the saved ones again. Objects that have not changed keep their resourceVersion. The
   * revision rises, so that watches continue with the differences.
   */
  readonly restore: (saved: Saved) => void
}

/** The content of a store as plain JSON. */
export interface Saved {
  readonly revision: number
  readonly storages: { readonly [storage: string]: ReadonlyArray<JsonObject> }
}

/** How a store is made. */
export interface Options {
  /** How many changes are kept at least; default 10 000: minutes of a busy test, and some tens of megabytes. */
  readonly history?: number | undefined
  readonly saved?: Saved | undefined
}

/** Where the revisions of an empty store begin: higher than 1, so that a watch from 1 is one from before all history. */
const firstRevision = 100

/** The objects of one storage, their keys in order, and who listens. */
interface Shelf {
  readonly objects: Map<string, JsonObject>
  readonly keys: Array<string>
  readonly listeners: Set<Listener>
}

/** A store. */
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
    const made: Shelf = { objects: new Map(), keys: [], listeners: new Set() }
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
    // Half of it at once, so that the cost per write stays constant.
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
    const shelf = shelfOf(storage)
    const key = keyOfObject(written)
    const previous = shelf.objects.get(key)
    revision++
    const stored = at(revision, written)
    shelf.objects.set(key, stored)
    if (previous === undefined) shelf.keys.splice(indexOf(shelf.keys, key), 0, key)
    record(shelf, {
      revision,
      type: previous === undefined ? "ADDED" : "MODIFIED",
      storage,
      object: stored,
      previous
    })
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
    changes: (storage, wanted) => after(wanted)?.filter((change) => change.storage === storage),
    put,
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

/** Whether two states of an object differ in nothing but their resourceVersion. */
const isSame = (one: JsonObject, other: JsonObject): boolean => equal(at(0, one), at(0, other))

/** An object as of a revision. */
const at = (revision: number, written: JsonObject): JsonObject => ({
  ...written,
  metadata: { ...object(written.metadata), resourceVersion: String(revision) }
})

const byCode = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0)

/** Where a key is in the order, or would be. */
const indexOf = (keys: ReadonlyArray<string>, key: string): number =>
  lowest(keys.length, (index) => (keys[index] ?? "") >= key)

const firstAfter = (log: ReadonlyArray<Change>, revision: number): number =>
  lowest(log.length, (index) => (log[index]?.revision ?? 0) > revision)

/** The lowest index of which something is true that is true of all higher ones. */
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
