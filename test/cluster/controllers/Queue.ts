/**
 * The keys that controllers have to look at: each once, in the order they came; those that have to wait, by their time. It
 * reads no clock.
 */

/** A key of a controller. */
export interface Item {
  readonly controller: number
  readonly key: string
}

/** A queue. */
export interface Queue {
  /** Has it looked at now, or not before a time. Of several times the earliest counts. */
  readonly add: (item: Item, at?: number) => void
  /** The next one that is due; undefined: none is. */
  readonly take: (now: number) => Item | undefined
  readonly isDue: (now: number) => boolean
  /** When the next of those that wait is due. */
  readonly next: () => number | undefined
}

interface Delayed {
  readonly item: Item
  readonly at: number
  readonly order: number
}

const idOf = ({ controller, key }: Item): string => `${controller} ${key}`

/** An empty queue. */
export const make = (): Queue => {
  const ready = new Map<string, Item>()
  const delayed = new Map<string, Delayed>()
  let order = 0

  const earliest = (): Delayed | undefined => {
    let found: Delayed | undefined
    for (const one of delayed.values()) {
      if (found === undefined || one.at < found.at || (one.at === found.at && one.order < found.order)) found = one
    }
    return found
  }
  /** When the next one is due. Kept, as it is asked for much more often than it changes. */
  let soonest: number | undefined
  const ripen = (now: number): void => {
    while (soonest !== undefined && soonest <= now) {
      const first = earliest()
      if (first !== undefined) {
        delayed.delete(idOf(first.item))
        ready.set(idOf(first.item), first.item)
      }
      soonest = earliest()?.at
    }
  }

  return {
    add: (item, at) => {
      const id = idOf(item)
      if (ready.has(id)) return
      if (at === undefined) {
        // Not taken from those that wait: what it waits for stays to be looked at in its time.
        ready.set(id, item)
        return
      }
      const waiting = delayed.get(id)
      if (waiting !== undefined && waiting.at <= at) return
      delayed.set(id, { item, at, order: order++ })
      soonest = Math.min(at, soonest ?? at)
    },
    take: (now) => {
      ripen(now)
      for (const [id, item] of ready) {
        ready.delete(id)
        return item
      }
      return undefined
    },
    isDue: (now) => {
      ripen(now)
      return ready.size > 0
    },
    next: () => soonest
  }
}
