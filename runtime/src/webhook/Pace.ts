/**
 * The share of the event loop that reviews get. Every pod can send reviews, and one of 60 kB can take 40 ms to check. So the
 * server answers only some bytes in a turn of the event loop. After a long turn the next reviews wait as long as it took: the renewal of
 * the Lease, probes and reconciles run in between. The addresses of clients take turns, so that the reviews of one do not delay another.
 */
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Time from "../resource/Time.ts"

/** The bodies that are answered in one turn, in bytes; a larger one has a turn of its own. Reviews of an API server have some KB. */
export const mostBytes = 64 * 1024

/** A turn that takes longer, in ms, is followed by a rest. */
export const longMillis = 5

/** The longest rest, in ms. A turn contains the work of others, too. */
export const mostRest = 250

/** The event loop. Tests provide their own. */
export interface Host {
  /** Runs after the current turn of the event loop. */
  readonly immediate: (run: () => void) => void
  /** Runs after this time in ms. */
  readonly later: (millis: number, run: () => void) => void
}

/** The reviews of a server that are to be answered. */
export interface Pace {
  /** Waits for the turn of a review with this many bytes, from this address. */
  readonly turn: (bytes: number, address: string) => Effect.Effect<void>
  /** The number of reviews that wait. */
  readonly size: () => number
}

/** A review that waits. */
interface Waiting {
  readonly bytes: number
  readonly start: () => void
}

/** No reviews. */
export const make = (clock: Clock.Clock, { immediate, later }: Host): Pace => {
  /** The reviews of each address that waits. The address whose turn is next comes first. */
  const lanes = new Map<string, Set<Waiting>>()
  const forget = (address: string, each: Waiting): void => {
    const lane = lanes.get(address)
    if (lane?.delete(each) === true && lane.size === 0) lanes.delete(address)
  }
  /** The bytes of this turn; undefined between two turns. */
  let used: number | undefined
  let isResting = false
  const end = (began: number): void => {
    const took = Time.monotonic(clock) - began
    used = undefined
    if (took <= longMillis) {
      startAll()
      return
    }
    isResting = true
    later(Math.min(took, mostRest), () => {
      isResting = false
      startAll()
    })
  }
  /** Whether a review can have a place in this turn. Begins the turn. */
  const take = (bytes: number): boolean => {
    if (isResting || (used !== undefined && used + bytes > mostBytes)) return false
    if (used === undefined) {
      used = 0
      const began = Time.monotonic(clock)
      // After the fibers that this turn resumes.
      immediate(() => immediate(() => end(began)))
    }
    used += bytes
    return true
  }
  const startAll = (): void => {
    // A lane that goes to the end comes again in this loop.
    for (const [address, lane] of lanes) {
      for (const each of lane) {
        if (!take(each.bytes)) return
        lanes.delete(address)
        lane.delete(each)
        if (lane.size > 0) lanes.set(address, lane)
        each.start()
        break
      }
    }
  }
  return {
    turn: (bytes, address) =>
      Effect.suspend(() => {
        if (lanes.size === 0 && take(bytes)) return Effect.void
        return Effect.callback<void>((resume) => {
          const each = { bytes, start: () => resume(Effect.void) }
          const lane = lanes.get(address) ?? new Set()
          lanes.set(address, lane.add(each))
          return Effect.sync(() => forget(address, each))
        })
      }),
    size: () => [...lanes.values()].reduce((sum, lane) => sum + lane.size, 0)
  }
}
