/** The indexes of the controllers: dependents by owner, and objects without a controller. Each change updates the indexes. */
import { type JsonObject, text } from "@homeostat/apiserver/model/Json"
import { keyOfObject, namespaceOf, ownersOf, uidOf } from "@homeostat/apiserver/model/ObjectMeta"
import type { Registry } from "@homeostat/apiserver/model/Registry"
import type { Change, Store } from "@homeostat/apiserver/storage/Store"
import type { Snapshot, Stored } from "./BuiltInController.ts"

/** An index of a store. */
export interface Index {
  readonly snapshot: Snapshot
  readonly apply: (change: Change) => void
}

/** Objects by key and place. */
class Shelves {
  private readonly shelves = new Map<string, Map<string, Stored>>()

  add(key: string, place: string, stored: Stored): void {
    const shelf = this.shelves.get(key) ?? new Map<string, Stored>()
    this.shelves.set(key, shelf)
    shelf.set(place, stored)
  }

  remove(key: string, place: string): void {
    const shelf = this.shelves.get(key)
    shelf?.delete(place)
    if (shelf?.size === 0) this.shelves.delete(key)
  }

  /** Returns the objects sorted by place, so that the result does not depend on the order of the writes. */
  list(key: string): ReadonlyArray<Stored> {
    return [...(this.shelves.get(key) ?? [])]
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([, stored]) => stored)
  }
}

/** Makes an index of the objects in a store. */
export const make = (store: Store, registry: Registry): Index => {
  const byOwner = new Shelves()
  const withoutController = new Shelves()
  const byUid = new Map<string, Stored>()

  const each = (
    storage: string,
    object: JsonObject,
    change: (shelves: Shelves, key: string, place: string) => void
  ) => {
    const place = `${storage} ${keyOfObject(object)}`
    let isControlled = false
    for (const { controller, uid } of ownersOf(object)) {
      change(byOwner, text(uid) ?? "", place)
      if (controller === true) isControlled = true
    }
    if (!isControlled) change(withoutController, `${storage} ${namespaceOf(object)}`, place)
  }
  const add = (storage: string, object: JsonObject): void => {
    const stored = { storage, object }
    byUid.set(uidOf(object), stored)
    each(storage, object, (shelves, key, place) => shelves.add(key, place, stored))
  }
  const remove = (storage: string, object: JsonObject): void => {
    byUid.delete(uidOf(object))
    each(storage, object, (shelves, key, place) => shelves.remove(key, place))
  }

  return {
    snapshot: {
      get: store.get,
      list: store.list,
      dependents: (uid) => byOwner.list(uid),
      orphans: (storage, namespace) => withoutController.list(`${storage} ${namespace}`).map(({ object }) => object),
      byUid: (uid) => byUid.get(uid),
      resources: registry.resources,
      named: registry.named
    },
    apply: ({ object, previous, storage, type }) => {
      if (previous !== undefined) remove(storage, previous)
      if (type !== "DELETED") add(storage, object)
    }
  }
}
