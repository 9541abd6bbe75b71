/**
 * The ready keys, highest priority first, and first-in-first-out within one priority. Each priority has a linked list, so every step is
 * O(1). A controller has two or three priorities.
 *
 * A key that became ready during its run keeps its position, and `next` skips it. There are at most as many such keys as workers.
 */
import type { Entry, Level } from "./Entry.ts"

/** The ready keys of one queue. */
export interface Ready<T> {
  /** Adds the entry at the end of the list of its priority. */
  readonly append: (entry: Entry<T>) => void
  /** Adds the entry at the start of the list of its priority. */
  readonly prepend: (entry: Entry<T>) => void
  /** Removes an entry. */
  readonly remove: (entry: Entry<T>) => void
  /** The first entry without a run in progress. */
  readonly next: () => Entry<T> | undefined
  /** The number of entries before this one. O(n): for `why`, not for the hot path. */
  readonly indexOf: (entry: Entry<T>) => number
  /** The number of entries, including those of running keys. */
  readonly size: () => number
  /** The number of entries by priority. A priority without entries stays for a while with 0, so that its gauge falls to 0. */
  readonly depth: () => ReadonlyMap<number, number>
  /** The earliest `enqueuedAt`. O(n), because a raise of the priority puts an old entry behind younger ones. */
  readonly oldest: () => number | undefined
  /** Calls `visit` for every entry. */
  readonly each: (visit: (entry: Entry<T>) => void) => void
  /** Calls `visit` for every entry, and removes all entries. */
  readonly drain: (visit: (entry: Entry<T>) => void) => void
}

/** The number of empty lists that are kept for reuse, so that one busy key does not create a list for each run. */
const keptLevels = 8

/** No ready keys. */
export const make = <T>(): Ready<T> => {
  const byPriority = new Map<number, Level<T>>()
  /** Ascending: the highest priority is at the end, where a removal is cheapest. */
  const levels: Array<Level<T>> = []
  let count = 0

  /** The index of the first list whose priority is at least `priority`. */
  const search = (priority: number): number => {
    let low = 0
    let high = levels.length
    while (low < high) {
      const middle = (low + high) >>> 1
      const level = levels[middle]
      if (level !== undefined && level.priority < priority) low = middle + 1
      else high = middle
    }
    return low
  }

  const levelOf = (priority: number): Level<T> => {
    const known = byPriority.get(priority)
    if (known !== undefined) return known
    const level: Level<T> = { priority, first: undefined, last: undefined, size: 0 }
    byPriority.set(priority, level)
    levels.splice(search(priority), 0, level)
    return level
  }

  const append = (entry: Entry<T>): void => {
    const level = levelOf(entry.priority)
    entry.level = level
    entry.previous = level.last
    entry.next = undefined
    if (level.last === undefined) level.first = entry
    else level.last.next = entry
    level.last = entry
    level.size++
    count++
  }

  const prepend = (entry: Entry<T>): void => {
    const level = levelOf(entry.priority)
    entry.level = level
    entry.previous = undefined
    entry.next = level.first
    if (level.first === undefined) level.last = entry
    else level.first.previous = entry
    level.first = entry
    level.size++
    count++
  }

  const remove = (entry: Entry<T>): void => {
    const level = entry.level
    if (level === undefined) return
    if (entry.previous === undefined) level.first = entry.next
    else entry.previous.next = entry.next
    if (entry.next === undefined) level.last = entry.previous
    else entry.next.previous = entry.previous
    entry.level = undefined
    entry.previous = undefined
    entry.next = undefined
    level.size--
    count--
    if (level.size === 0 && levels.length > keptLevels) {
      byPriority.delete(level.priority)
      levels.splice(search(level.priority), 1)
    }
  }

  const next = (): Entry<T> | undefined => {
    for (let index = levels.length - 1; index >= 0; index--) {
      let entry = levels[index]?.first
      while (entry?.running === true) entry = entry.next
      if (entry !== undefined) return entry
    }
    return undefined
  }

  const indexOf = (entry: Entry<T>): number => {
    let ahead = 0
    for (const level of levels) if (level.priority > entry.priority) ahead += level.size
    for (let before = entry.previous; before !== undefined; before = before.previous) ahead++
    return ahead
  }

  const each = (visit: (entry: Entry<T>) => void): void => {
    for (const level of levels) for (let entry = level.first; entry !== undefined; entry = entry.next) visit(entry)
  }

  const oldest = (): number | undefined => {
    let least: number | undefined
    each(({ enqueuedAt }) => {
      if (least === undefined || enqueuedAt < least) least = enqueuedAt
    })
    return least
  }

  const drain = (visit: (entry: Entry<T>) => void): void => {
    for (const level of levels) {
      for (let entry = level.first; entry !== undefined; ) {
        const following: Entry<T> | undefined = entry.next
        entry.level = undefined
        entry.previous = undefined
        entry.next = undefined
        visit(entry)
        entry = following
      }
    }
    levels.length = 0
    byPriority.clear()
    count = 0
  }

  return {
    append,
    prepend,
    remove,
    next,
    indexOf,
    size: () => count,
    depth: () => new Map(levels.map((level) => [level.priority, level.size])),
    oldest,
    each,
    drain
  }
}
