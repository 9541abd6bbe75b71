/**
 * The workers that each namespace holds, so that reconciles that wait for slow answers in one namespace do not keep those of others. They
 * use no CPU, which `CpuUse` counts. While fewer than half of the workers are busy, it costs one comparison.
 */
import type { Entry } from "./Entry.ts"

/** The workers of one queue. */
export interface Held {
  /** The namespaces with at least half of the workers, and how many each has. Valid until a run begins or ends. */
  readonly crowds: () => ReadonlyMap<string, number>
}

/** The namespace of a key; undefined for an object without one. */
export const namespaceOf = (key: string): string | undefined => {
  const end = key.indexOf("/")
  return end < 0 ? undefined : key.slice(0, end)
}

/** The workers that one namespace may hold while objects of another one are ready. */
export const mostOf = (workers: number): number => Math.max(1, Math.floor(workers / 2))

const none: ReadonlyMap<string, number> = new Map()

/** @param running the entries with a run in progress */
export const make = <T>(running: ReadonlySet<Entry<T>>, workers = Number.POSITIVE_INFINITY): Held => {
  const most = mostOf(workers)
  return {
    crowds: () => {
      if (running.size < most) return none
      const counts = new Map<string, number>()
      for (const { key } of running) {
        const namespace = namespaceOf(key)
        if (namespace !== undefined) counts.set(namespace, (counts.get(namespace) ?? 0) + 1)
      }
      for (const [namespace, count] of counts) if (count < most) counts.delete(namespace)
      return counts
    }
  }
}
