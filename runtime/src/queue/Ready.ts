/**
 * The keys that may run, highest priority first and first-in-first-out within one priority: a linked list per priority,
 * so that every step is O(1) however many keys wait. (Finding the list of a priority is a Map lookup; a controller has
 * two or three.)
 *
 * A key that became ready again while its run is in progress keeps its place in line and is stepped over: at most as
 * many such keys exist as there are workers.
 */
import type { Entry, Level } from "./Entry.ts"

/** See the top of this file. */
export interface Ready<T> {
  /** Puts the entry at the end of the line of its priority. */
  readonly append: (entry: Entry<T>) => void
  /** Puts the entry at the head of the line of its priority. */
  readonly prepend: (entry: Entry<T>) => void
  /** Removes an entry. */
  readonly remove: (entry: Entry<T>) => void
  /** The first entry without a run in progress. */
  readonly next: () => Entry<T> | undefined
  /** The number of entries before this one. O(n): for `why`, not for the hot path. */
  readonly indexOf: (entry: Entry<T>) => number
  /** The number of entries, including those of running keys. */
  readonly size: () => number
  /** The number of entries by priority. A priority that was used lately has 0, so that its gauge falls to 0. */
  readonly depth: () => ReadonlyMap<number, number>
  /** `enqueuedAt` of the entry that has waited longest. O(n): a raise moves an old entry behind younger ones. */
  readonly oldest: () => number | undefined
  /** Visits every entry and empties the structure. */
  readonly drain: (visit: (entry: Entry<T>) => void) => void
}

/** Empty lines are kept for reuse up to this many, lest one busy key make and drop a line at every turn. */
const keptLevels = 8

/** An empty structure. */
export const make = <T>(): Ready<T> => {
  const byPriority = new Map<number, Level<T>>()
  /** Ascending, so that the line served first is at the end, where dropping an empty one is cheapest. */
  const levels: Array<Level<T>> = []
  let count = 0

  /** Index of the first level whose priority is not below the one given. */
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

  const oldest = (): number | undefined => {
    let least: number | undefined
    for (const level of levels) {
      for (let entry = level.first; entry !== undefined; entry = entry.next) {
        if (least === undefined || entry.enqueuedAt < least) least = entry.enqueuedAt
      }
    }
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
    drain
  }
}
