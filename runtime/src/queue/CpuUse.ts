/**
 * The CPU time that the attempts of each namespace have used lately. It holds the namespaces of the last two windows, at most
 * {@link mostNamespaces}, and needs no timer.
 */
import * as Bounded from "../resource/Bounded.ts"

/** The length of a window, in ms. */
export const windowMillis = 10_000

/** The CPU time that a namespace may use in a window before its objects wait behind those of others: a twentieth of a core. */
export const shareMillis = windowMillis / 20

/** Beyond this many namespaces, the one whose attempt is the longest ago is forgotten. */
const mostNamespaces = 1000

/** The use of CPU of all namespaces. Times are monotonic milliseconds. */
export interface CpuUse {
  /** Adds CPU time that an attempt of the namespace used until `at`. */
  readonly spend: (namespace: string, millis: number, at: number) => void
  /**
   * The CPU time of a namespace in the last {@link windowMillis}, in ms. It assumes that the CPU time of the window before was spread
   * evenly.
   */
  readonly of: (namespace: string, at: number) => number
  /** False if a namespace may be over its share. */
  readonly isQuiet: () => boolean
}

/** Without any use. */
export const make = (): CpuUse => {
  let current = new Map<string, number>()
  let previous = new Map<string, number>()
  /** Whether a namespace was over its share in the window. */
  let [isOverNow, wasOver] = [false, false]
  let began = 0

  const turn = (at: number): void => {
    if (at - began < windowMillis) return
    const isNext = at - began < 2 * windowMillis
    previous = isNext ? current : new Map()
    wasOver = isNext && isOverNow
    current = new Map()
    isOverNow = false
    began = isNext ? began + windowMillis : at
  }

  const of = (namespace: string, at: number): number => {
    turn(at)
    const before = previous.get(namespace) ?? 0
    return (current.get(namespace) ?? 0) + before * (1 - (at - began) / windowMillis)
  }

  return {
    of,
    spend: (namespace, millis, at) => {
      turn(at)
      Bounded.put(current, namespace, (current.get(namespace) ?? 0) + millis, mostNamespaces)
      if (!isOverNow) isOverNow = of(namespace, at) > shareMillis
    },
    isQuiet: () => !isOverNow && !wasOver
  }
}
