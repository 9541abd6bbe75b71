/**
 * The copy that one reflector keeps. Edits fill a store and give the changes that subscribers receive. The store gets the first list
 * object by object; a later list replaces its content at once.
 */
import type * as Clock from "effect/Clock"
import { type KubernetesObject, keyString } from "../resource/KubernetesObject.ts"
import * as Overlay from "./Overlay.ts"
import type { Edit } from "./Reflector.ts"
import type { Change, Table } from "./Store.ts"

/** The copy of a kind in one namespace or in all namespaces. */
export interface Mirror {
  /** The namespace; `undefined` for all namespaces. */
  readonly namespace: string | undefined
  readonly overlay: Overlay.Overlay
  /** Executes an edit and returns its changes in order. The store is up to date when it returns. */
  readonly edit: (edit: Edit) => ReadonlyArray<Change>
  /** Replaces the stored object of a key by another form of the same version, unless an own write hides it. */
  readonly exchange: (key: string, object: KubernetesObject) => Change | undefined
  /** Whether a list has completed. False while the server does not serve the kind, which is optional. */
  readonly synced: () => boolean
}

/** The properties that the changes of one edit share. */
type How = Pick<Change, "initial" | "relisted" | "receivedAt">

const isSame = (a: KubernetesObject, b: KubernetesObject): boolean =>
  a.metadata.resourceVersion === b.metadata.resourceVersion && a.metadata.uid === b.metadata.uid

/** An empty copy that fills `table`. */
export const make = (options: {
  readonly table: Table
  readonly namespace: string | undefined
  readonly clock: Clock.Clock
}): Mirror => {
  const { table, namespace, clock } = options
  const overlay = Overlay.make(table, namespace)
  let staged = new Map<string, KubernetesObject>()
  let synced = false
  /** Whether no list has completed yet, and the kind was not absent: the objects are not news. */
  let isFirst = true
  /** Whether the list in progress began with an empty copy: then it removes nothing, and `put` has stored all that it has. */
  let isPlain = false

  /** Stores an object and adds the change to `changes`. */
  const put = (
    key: string,
    object: KubernetesObject,
    how: How,
    changes: Array<Change>,
    managedFields?: Change["managedFields"]
  ): void => {
    const previous = overlay.base(key)
    // The stored object stays: other modules cache results by its identity.
    if (previous !== undefined && isSame(previous, object)) {
      overlay.watched(key, previous)
      return
    }
    overlay.watched(key, object)
    if (previous === undefined) changes.push({ type: "added", object, ...how })
    else if (previous.metadata.uid === object.metadata.uid)
      changes.push({ type: "updated", object, previous, ...how, ...(managedFields && { managedFields }) })
    else {
      // The watch missed the deletion: this is another object of the same name.
      changes.push({ type: "deleted", object: previous, ...how }, { type: "added", object, ...how })
    }
  }

  /** Removes an object; `last` is its last state, if the server sent it. */
  const drop = (key: string, last: KubernetesObject | undefined, how: How, changes: Array<Change>): void => {
    const previous = overlay.base(key)
    if (previous === undefined) return
    overlay.watched(key, undefined)
    const object = last !== undefined && last.metadata.uid === previous.metadata.uid ? last : previous
    changes.push({ type: "deleted", object, ...how })
  }

  /** Stores objects of the first list as they arrive, so that its end does not block the event loop. Keeps those of later lists. */
  const stage = (objects: ReadonlyArray<KubernetesObject>, how: How, changes: Array<Change>): void => {
    for (const object of objects) {
      const key = keyString(object.metadata)
      if (isFirst) put(key, object, how, changes)
      if (isPlain) continue
      const known = overlay.base(key)
      // Most objects are unchanged in a later list: keep the stored ones, so that the new ones become garbage at once.
      staged.set(key, known !== undefined && isSame(known, object) ? known : object)
    }
  }

  const commit = (resourceVersion: string, how: How, changes: Array<Change>): void => {
    overlay.relisted(resourceVersion)
    if (isPlain) {
      // All objects are stored. The list decides about those that an own write hid meanwhile.
      if (overlay.size() > 0) for (const key of Array.from(overlay.keys())) overlay.watched(key, overlay.base(key))
    } else replace(how, changes)
    staged = new Map()
    synced = true
    isFirst = false
    isPlain = false
  }

  /** Replaces the copy by the staged objects. */
  const replace = (how: How, changes: Array<Change>): void => {
    const gone = Array.from(overlay.keys()).filter((key) => !staged.has(key))
    for (const key of gone) drop(key, undefined, { ...how, initial: false, relisted: true }, changes)
    const found = { ...how, relisted: !isFirst }
    for (const [key, object] of staged) put(key, object, found, changes)
  }

  /** Nothing of the kind exists any more, own writes included. */
  const clear = (how: How, changes: Array<Change>): void => {
    staged = new Map()
    isPlain = false
    overlay.relisting()
    overlay.relisted("")
    for (const key of Array.from(overlay.keys()))
      drop(key, undefined, { ...how, initial: false, relisted: true }, changes)
    synced = false
    isFirst = false
  }

  return {
    namespace,
    overlay,
    synced: () => synced,
    exchange: (key, object) => {
      const previous = overlay.base(key)
      if (previous === undefined || previous !== table.get(key) || !isSame(previous, object)) return undefined
      overlay.watched(key, object)
      // As a later list, so that no reconcile takes it for the event of its own write.
      const receivedAt = clock.currentTimeMillisUnsafe()
      return { type: "updated", object, previous, initial: false, relisted: true, receivedAt }
    },
    edit: (edit) => {
      const how: How = { initial: isFirst, relisted: false, receivedAt: clock.currentTimeMillisUnsafe() }
      const changes: Array<Change> = []
      switch (edit._tag) {
        case "Begin":
          staged = new Map()
          isPlain = isFirst && overlay.keys()[Symbol.iterator]().next().done === true
          overlay.relisting()
          break
        case "Stage":
          stage(edit.objects, how, changes)
          break
        case "Commit":
          commit(edit.resourceVersion, how, changes)
          break
        case "Absent":
          clear(how, changes)
          break
        case "Apply":
          for (const event of edit.events) {
            switch (event.type) {
              case "ADDED":
              case "MODIFIED":
                put(keyString(event.object.metadata), event.object, how, changes, event.managedFields)
                break
              case "DELETED":
                drop(keyString(event.object.metadata), event.object, how, changes)
                break
            }
          }
          overlay.passed(edit.resourceVersion)
      }
      return changes
    }
  }
}
