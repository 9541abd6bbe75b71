/**
 * The delayed keys by due time, in a binary heap. Each entry has its index in the heap, so a trigger removes a key in O(log n). Entries
 * with equal times leave in the order in which they were added.
 */
import type { Entry } from "./Entry.ts"

/** The delayed keys of one queue. */
export interface Delayed<T> {
  /** Adds the entry at its `dueAt`. */
  readonly add: (entry: Entry<T>) => void
  /** Moves an entry to an earlier time. Among equal times it keeps its rank. */
  readonly advance: (entry: Entry<T>, dueAt: number) => void
  /** Removes an entry. */
  readonly remove: (entry: Entry<T>) => void
  /** The entry with the earliest due time. */
  readonly first: () => Entry<T> | undefined
  /** The number of entries. */
  readonly size: () => number
  /** Calls `visit` for every entry, and removes all entries. */
  readonly drain: (visit: (entry: Entry<T>) => void) => void
}

const before = <T>(left: Entry<T>, right: Entry<T>): boolean =>
  left.dueAt < right.dueAt || (left.dueAt === right.dueAt && left.rank < right.rank)

/** No delayed keys. */
export const make = <T>(): Delayed<T> => {
  const heap: Array<Entry<T>> = []
  let ranks = 0

  const place = (entry: Entry<T>, slot: number): void => {
    heap[slot] = entry
    entry.slot = slot
  }

  const rise = (entry: Entry<T>, from: number): void => {
    let slot = from
    while (slot > 0) {
      const above = (slot - 1) >> 1
      const parent = heap[above]
      if (parent === undefined || !before(entry, parent)) break
      place(parent, slot)
      slot = above
    }
    place(entry, slot)
  }

  const sink = (entry: Entry<T>, from: number): void => {
    let slot = from
    while (true) {
      const left = 2 * slot + 1
      let child = heap[left]
      if (child === undefined) break
      const right = heap[left + 1]
      if (right !== undefined && before(right, child)) child = right
      if (!before(child, entry)) break
      const below = child.slot
      place(child, slot)
      slot = below
    }
    place(entry, slot)
  }

  return {
    add: (entry) => {
      entry.rank = ranks++
      rise(entry, heap.length)
    },
    advance: (entry, dueAt) => {
      entry.dueAt = dueAt
      rise(entry, entry.slot)
    },
    remove: (entry) => {
      const slot = entry.slot
      const last = heap.pop()
      if (last === undefined || last === entry) return
      const above = heap[(slot - 1) >> 1]
      if (slot > 0 && above !== undefined && before(last, above)) rise(last, slot)
      else sink(last, slot)
    },
    first: () => heap[0],
    size: () => heap.length,
    drain: (visit) => {
      for (const entry of heap) visit(entry)
      heap.length = 0
    }
  }
}
