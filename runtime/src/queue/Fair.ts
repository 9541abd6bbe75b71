/**
 * The ready keys of one queue, fair between namespaces. A namespace is over its share if it used much CPU, or holds half of the workers. Then
 * its keys come after those of namespaces within their shares, whatever their priorities. Among namespaces over their share, the one that used
 * least comes first. While no namespace is over its share, the order is that of {@link Ready}.
 *
 * `next` sets aside the keys of a namespace over its share when they are about to be served. So each key moves at most once, and a queue
 * without such a namespace does nothing more. No key starves: a namespace that waits is soon within its
 * share again. Then its keys have their old places.
 */
import type { CpuUse } from "./CpuUse.ts"
import * as Share from "./CpuUse.ts"
import type { Entry } from "./Entry.ts"
import type { Held } from "./Held.ts"
import { namespaceOf } from "./Held.ts"
import * as Ready from "./Ready.ts"

/**
 * No ready keys. Without `use`, the order is that of {@link Ready}.
 *
 * @param now monotonic milliseconds
 */
export const make = <T>(use: CpuUse | undefined, held: Held, now: () => number): Ready.Ready<T> =>
  use === undefined ? Ready.make() : fair(use, held, now)

const fair = <T>(use: CpuUse, held: Held, now: () => number): Ready.Ready<T> => {
  const main = Ready.make<T>()
  /** The keys that were set aside, by namespace. A namespace keeps its line until it is empty, also within its share. */
  const asides = new Map<string, Ready.Ready<T>>()
  let [first, last] = [0, 0]

  const asideOf = (entry: Entry<T>): Ready.Ready<T> | undefined =>
    asides.size === 0 ? undefined : asides.get(namespaceOf(entry.key) ?? "")

  let crowds = held.crowds()

  /** The CPU time in ms and the workers of a namespace over its share, and otherwise 0. */
  const excess = (namespace: string | undefined, at: number): number => {
    if (namespace === undefined) return 0
    const used = use.of(namespace, at)
    return (used > Share.shareMillis ? used : 0) + (crowds.size === 0 ? 0 : (crowds.get(namespace) ?? 0))
  }

  const setAside = (namespace: string, entry: Entry<T>): void => {
    let aside = asides.get(namespace)
    if (aside === undefined) {
      aside = Ready.make<T>()
      asides.set(namespace, aside)
    }
    main.remove(entry)
    entry.isAside = true
    aside.append(entry)
  }

  /** The first key of a namespace within its share that was not set aside. */
  const within = (at: number): Entry<T> | undefined => {
    for (let entry = main.next(); entry !== undefined; entry = main.next()) {
      const namespace = namespaceOf(entry.key)
      if (namespace === undefined || excess(namespace, at) === 0) return entry
      setAside(namespace, entry)
    }
    return undefined
  }

  const isPlain = (): boolean => {
    crowds = held.crowds()
    return asides.size === 0 && crowds.size === 0 && use.isQuiet()
  }

  /** Less than 0 if `a` comes first. */
  const order = (a: Entry<T>, excessOfA: number, b: Entry<T>, excessOfB: number): number =>
    excessOfA - excessOfB || b.priority - a.priority || a.rank - b.rank

  const next = (): Entry<T> | undefined => {
    if (isPlain()) return main.next()
    const at = now()
    let best = within(at)
    let least = 0
    for (const [namespace, aside] of asides) {
      if (aside.size() === 0) asides.delete(namespace)
      const entry = aside.next()
      if (entry === undefined) continue
      const used = excess(namespace, at)
      if (best === undefined || order(entry, used, best, least) < 0) {
        best = entry
        least = used
      }
    }
    return best
  }

  const indexOf = (entry: Entry<T>): number => {
    if (isPlain()) return main.indexOf(entry)
    const at = now()
    const own = excess(namespaceOf(entry.key), at)
    let ahead = 0
    each((other) => {
      if (order(other, excess(namespaceOf(other.key), at), entry, own) < 0) ahead++
    })
    return ahead
  }

  const each = (visit: (entry: Entry<T>) => void): void => {
    main.each(visit)
    for (const aside of asides.values()) aside.each(visit)
  }

  const remove = (entry: Entry<T>): void => {
    const from = entry.isAside ? asideOf(entry) : main
    entry.isAside = false
    from?.remove(entry)
  }

  return {
    append: (entry) => {
      entry.rank = ++last
      main.append(entry)
    },
    prepend: (entry) => {
      entry.rank = --first
      const aside = asideOf(entry)
      entry.isAside = aside !== undefined
      ;(aside ?? main).prepend(entry)
    },
    remove,
    next,
    indexOf,
    size: () => {
      let count = main.size()
      for (const aside of asides.values()) count += aside.size()
      return count
    },
    depth: () => {
      const depth = new Map(main.depth())
      for (const aside of asides.values()) {
        for (const [priority, count] of aside.depth()) depth.set(priority, (depth.get(priority) ?? 0) + count)
      }
      return depth
    },
    oldest: () => {
      const each = [main, ...asides.values()].flatMap((line) => line.oldest() ?? [])
      return each.length === 0 ? undefined : Math.min(...each)
    },
    each,
    drain: (visit) => {
      const taken = (entry: Entry<T>): void => {
        entry.isAside = false
        visit(entry)
      }
      main.drain(taken)
      for (const aside of asides.values()) aside.drain(taken)
      asides.clear()
    }
  }
}
