/**
 * The maps that are Effects and wait for their turn. The namespaces of the objects that changed take turns, those over their share of the
 * CPU last. If too many changes of one namespace wait, its maps are dropped, and the controller reconciles its objects instead: those of
 * the namespace at once, and those of others, which the maps may have named too, at most once in {@link everyMillis}. So one tenant
 * neither delays the maps of others, nor makes the controller reconcile their objects again and again.
 */
import type * as Effect from "effect/Effect"
import * as Share from "../queue/CpuUse.ts"

/** The most changes of a namespace that wait, and of all namespaces. */
export const mostOfOne = 1000
const mostOfAll = 5000

/** The least time between two rounds over the objects of all namespaces, in ms. */
export const everyMillis = 60_000

/** The changes of objects without a namespace wait under "". */
export interface Maps<R> {
  /** Returns false if the maps of the namespace were dropped. */
  readonly add: (namespace: string, map: Effect.Effect<void, never, R>) => boolean
  /** The next map; undefined if none waits. */
  readonly next: () => { readonly namespace: string; readonly map: Effect.Effect<void, never, R> } | undefined
  /** A namespace whose maps were dropped; undefined if there is none. */
  readonly dropped: () => string | undefined
}

/** No maps. @param now monotonic milliseconds */
export const make = <R>(use: Pick<Share.CpuUse, "of" | "isQuiet"> | undefined, now: () => number): Maps<R> => {
  const lines = new Map<string, Array<Effect.Effect<void, never, R>>>()
  const dropped = new Set<string>()
  let size = 0

  const drop = (namespace: string): void => {
    size -= lines.get(namespace)?.length ?? 0
    lines.delete(namespace)
    dropped.add(namespace)
  }

  const longest = (): string => {
    let found = ""
    for (const [namespace, { length }] of lines) if (length > (lines.get(found)?.length ?? 0)) found = namespace
    return found
  }

  /** The first namespace within its share, or the one that used least. */
  const choose = (): string | undefined => {
    const [first] = lines.keys()
    if (use === undefined || lines.size < 2 || use.isQuiet()) return first
    const at = now()
    let [chosen, least] = [first, Number.POSITIVE_INFINITY]
    for (const namespace of lines.keys()) {
      const used = use.of(namespace, at)
      if (namespace === "" || used <= Share.shareMillis) return namespace
      if (used < least) [chosen, least] = [namespace, used]
    }
    return chosen
  }

  return {
    add: (namespace, map) => {
      if (dropped.has(namespace)) return true
      const line = lines.get(namespace)
      if (line === undefined) lines.set(namespace, [map])
      else line.push(map)
      size++
      const excess = (line?.length ?? 0) > mostOfOne ? namespace : size > mostOfAll ? longest() : undefined
      if (excess !== undefined) drop(excess)
      return excess === undefined
    },
    next: () => {
      const namespace = choose()
      const line = namespace === undefined ? undefined : lines.get(namespace)
      const map = line?.shift()
      if (namespace === undefined || line === undefined || map === undefined) return undefined
      size--
      // The namespace goes to the end of the line.
      lines.delete(namespace)
      if (line.length > 0) lines.set(namespace, line)
      return { namespace, map }
    },
    dropped: () => {
      for (const namespace of dropped) {
        dropped.delete(namespace)
        return namespace
      }
      return undefined
    }
  }
}

/** When to reconcile the objects of all namespaces in place of dropped maps. */
export interface Rounds {
  /** The delay of the next round in ms; undefined if a later round is planned already. */
  readonly plan: () => number | undefined
}

/** @param now monotonic milliseconds */
export const rounds = (now: () => number): Rounds => {
  let last = Number.NEGATIVE_INFINITY
  return {
    plan: () => {
      const at = now()
      if (last > at) return undefined
      const delay = Math.max(0, last + everyMillis - at)
      last = at + delay
      return delay
    }
  }
}
