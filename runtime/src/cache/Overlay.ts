/**
 * Read-your-writes: the answers to own writes, on top of the state that the watch has delivered.
 *
 * The watch decides. The overlay shows an answer only while its resourceVersion is greater than every resourceVersion that the watch
 * has reached. In more than half of all writes the event arrives before the answer; the same comparison covers that case. The overlay
 * ignores a resourceVersion that is not a number, because the answer could be older than the watch. It keeps deletions by UID, so a
 * deletion can neither hide a new object of the same name nor be undone by a late event. One case is not covered: after a delete by
 * name of an object that the watch has not delivered yet, reads show the previous object until its deletion arrives.
 *
 * Each watch has its own overlay, because resourceVersions are compared within one stream of events.
 */
import * as Bounded from "../resource/Bounded.ts"
import type { KubernetesObject } from "../resource/KubernetesObject.ts"
import * as ResourceVersion from "./ResourceVersion.ts"
import type { Table } from "./Store.ts"

/** The objects of one watch and the answers to own writes, merged into a {@link Table}. */
export interface Overlay {
  /** The last state of `key` that the watch delivered. */
  readonly base: (key: string) => KubernetesObject | undefined
  /** The keys of the objects that the watch has delivered. Valid until the next change. */
  readonly keys: () => Iterable<string>
  /** Takes the state of `key` from the watch; `undefined` if the object was deleted. */
  readonly watched: (key: string, object: KubernetesObject | undefined) => void
  /** The watch has delivered everything up to `resourceVersion`: answers up to that version are no longer shown. */
  readonly passed: (resourceVersion: string) => void
  /** A list is about to be requested. It will contain every write that has been answered so far. */
  readonly relisting: () => void
  /** That list is complete as of `resourceVersion`; `watched` gets its objects next. */
  readonly relisted: (resourceVersion: string) => void
  /**
   * Takes the answer to a write: `key` is `object`, or, without `object`, no longer matches the selector. Ignored if the watch is
   * past that resourceVersion.
   */
  readonly written: (key: string, resourceVersion: string, object: KubernetesObject | undefined) => void
  /**
   * Takes the answer to a deletion of the object with `uid`. `resourceVersion` is that of the last state, if the answer contained it.
   * If the watch delivers the object at a later resourceVersion, the object still exists.
   */
  readonly deleted: (key: string, uid: string, resourceVersion: string | undefined) => void
  /** The number of keys whose shown state differs from the watch. Returns to zero when the watch has caught up. */
  readonly size: () => number
}

interface OptimisticUpdate {
  readonly object: KubernetesObject | undefined
  readonly order: number
  readonly sequence: number
}

/** A key whose shown state differs from its `base`. */
interface PendingKey {
  base: KubernetesObject | undefined
  optimistic: OptimisticUpdate | undefined
  /** An own write deleted the object in `base`, and the watch has not delivered the deletion. */
  tombstoned: boolean
}

/** An own write whose key stays pending until the watch has passed it. */
interface PendingWrite {
  readonly key: string
  readonly order: number
  readonly sequence: number
}

interface Tombstone {
  readonly order: number | undefined
  readonly sequence: number
}

/** The number of deleted UIDs that the overlay keeps for late events and answers, which arrive within seconds. */
const mostTombstones = 8192

/**
 * The limit of pending keys. It is reached only when a watch has been down for long and writes continued. Then the oldest keys are
 * dropped, {@link droppedAtOnce} at a time, so that the cost per write stays small.
 */
const mostPending = 8192
const droppedAtOnce = 1024

/** An overlay that writes to `table`, for the objects of `namespace` (default: all namespaces). */
export const make = (table: Table, namespace?: string): Overlay => {
  const pending = new Map<string, PendingKey>()
  const tombstones = new Map<string, Tombstone>()
  /**
   * The answers in the order in which the watch will pass them, from `firstWrite` on. An event then costs only the entries that it ends
   * (4,000 answers one by one: 10 ms instead of 200). Entries that a later answer replaced stay in the list.
   */
  let writes: Array<PendingWrite> = []
  let firstWrite = 0
  let position: number | undefined
  let sequence = 0
  let listing = 0

  const base = (key: string): KubernetesObject | undefined => {
    const found = pending.size === 0 ? undefined : pending.get(key)
    return found === undefined ? table.get(key) : found.base
  }

  const show = (key: string, object: KubernetesObject | undefined): void => {
    if (object === undefined) table.delete(key)
    else table.set(key, object)
  }

  const refresh = (key: string, each: PendingKey): void => {
    if (each.optimistic !== undefined) show(key, each.optimistic.object)
    else if (each.tombstoned) show(key, undefined)
    else {
      pending.delete(key)
      show(key, each.base)
    }
  }

  const hasTombstone = (object: KubernetesObject): boolean => {
    const { uid, resourceVersion } = object.metadata
    const tombstone = tombstones.get(uid)
    if (tombstone === undefined) return false
    if (!ResourceVersion.isLater(ResourceVersion.order(resourceVersion), tombstone.order)) return true
    tombstones.delete(uid)
    return false
  }

  const pendingOf = (key: string): PendingKey => {
    let found = pending.get(key)
    if (found === undefined) {
      found = { base: table.get(key), optimistic: undefined, tombstoned: false }
      pending.set(key, found)
    }
    return found
  }

  const revert = (key: string, each: PendingKey): void => {
    each.optimistic = undefined
    refresh(key, each)
  }

  /** Drops the oldest pending keys when there are too many. */
  const bound = (): void => {
    if (pending.size <= mostPending) return
    for (const [key, each] of pending) {
      each.tombstoned = false
      revert(key, each)
      if (pending.size <= mostPending - droppedAtOnce) return
    }
  }

  const enqueue = (entry: PendingWrite): void => {
    if (writes.length >= 2 * mostPending) {
      writes = writes.filter(({ key, sequence }) => pending.get(key)?.optimistic?.sequence === sequence)
      firstWrite = 0
    }
    // Answers arrive nearly in the order of their writes, so the position is at the end or close to it.
    let at = writes.length
    for (let before = writes[at - 1]; before !== undefined && before.order > entry.order; before = writes[at - 1]) at--
    writes.splice(Math.max(at, firstWrite), 0, entry)
  }

  /** Removes the answers up to this resourceVersion. */
  const advance = (reached: number): void => {
    position = reached
    for (let next = writes[firstWrite]; next !== undefined && next.order <= reached; next = writes[++firstWrite]) {
      const each = pending.get(next.key)
      if (each?.optimistic?.sequence === next.sequence) revert(next.key, each)
    }
    if (firstWrite === writes.length && firstWrite > 0) {
      writes = []
      firstWrite = 0
    }
  }

  return {
    base,
    keys: function* () {
      for (const key of table.keys(namespace)) if (!pending.has(key)) yield key
      for (const [key, each] of pending) if (each.base !== undefined) yield key
    },
    watched: (key, object) => {
      const isDeleted = object !== undefined && tombstones.size > 0 && hasTombstone(object)
      const existing = pending.size === 0 ? undefined : pending.get(key)
      if (existing === undefined && !isDeleted) {
        show(key, object)
        return
      }
      const target = existing ?? pendingOf(key)
      target.base = object
      target.tombstoned = isDeleted
      refresh(key, target)
    },
    passed: (resourceVersion) => {
      const reached = ResourceVersion.order(resourceVersion)
      if (reached !== undefined) advance(reached)
    },
    relisting: () => {
      listing = sequence
    },
    relisted: (resourceVersion) => {
      position = ResourceVersion.order(resourceVersion)
      // The list contains every write that was answered before the request. Numbers cannot decide this: a server that was restored
      // from a backup counts from an earlier resourceVersion, and may have a deleted object again.
      for (const [uid, tombstone] of tombstones) if (tombstone.sequence <= listing) tombstones.delete(uid)
      for (const [key, each] of pending) {
        const { optimistic } = each
        if (optimistic === undefined) continue
        if (optimistic.sequence <= listing || (position !== undefined && optimistic.order <= position))
          revert(key, each)
      }
      if (position !== undefined) advance(position)
    },
    written: (key, resourceVersion, object) => {
      const order = ResourceVersion.order(resourceVersion)
      if (order === undefined || (position !== undefined && order <= position)) return
      // Before the first list there is no position, but the table may hold a newer object.
      const current =
        pending.get(key)?.optimistic?.order ?? ResourceVersion.order(table.get(key)?.metadata.resourceVersion)
      if (current !== undefined && current >= order) return
      const target = pendingOf(key)
      // A late answer to a write of an object that an own write has deleted since.
      const isDeleted = object !== undefined && tombstones.size > 0 && hasTombstone(object)
      target.optimistic = { object: isDeleted ? undefined : object, order, sequence: ++sequence }
      enqueue({ key, order, sequence })
      refresh(key, target)
      bound()
    },
    deleted: (key, uid, resourceVersion) => {
      const order = ResourceVersion.order(resourceVersion)
      const known = base(key)
      const shown = known?.metadata.uid === uid ? known : undefined
      if (shown !== undefined && ResourceVersion.isLater(ResourceVersion.order(shown.metadata.resourceVersion), order))
        return
      Bounded.put(tombstones, uid, { order, sequence: ++sequence }, mostTombstones)
      const existing = pending.get(key)
      if (shown === undefined && existing === undefined) return
      const target = existing ?? pendingOf(key)
      // The state below is older: reads show no object until the watch is past the write.
      if (target.optimistic?.object?.metadata.uid === uid)
        target.optimistic = { ...target.optimistic, object: undefined }
      if (shown !== undefined) target.tombstoned = true
      refresh(key, target)
      bound()
    },
    size: () => pending.size
  }
}
