/**
 * The work queue of the controllers. Each key is queued once, in the order of arrival; a delayed key is queued at its time. The queue does
 * not read a clock.
 */

/** A key of a controller. */
export interface Item {
  readonly controller: number
  readonly key: string
}

/** A queue. */
export interface Queue {
  /** Queues a key now, or not before `at`. The earliest of several times counts. */
  readonly add: (item: Item, at?: number) => void
  /** Returns the next due key; undefined if no key is due. */
  readonly take: (now: number) => Item | undefined
  readonly isDue: (now: number) => boolean
  /** Returns the time at which the next delayed key is due. */
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
  /** The time at which the next delayed key is due. It is cached, because it is read much more often than it changes. */
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
        // The delayed entry stays, so that the key is also queued at its time.
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
