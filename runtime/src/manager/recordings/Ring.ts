/**
 * The recordings of the last attempts that failed or wrote, of all controllers of a manager. The ring has two bounds: the number of
 * recordings, and the bytes that they keep in memory. The oldest recordings are dropped first.
 *
 * A failure that repeats without a write keeps one recording, its latest, so that one failing object does not drop the others.
 */
import type { Attempt } from "../../controller/Attempt.ts"
import * as Bounded from "../../resource/Bounded.ts"
import * as Recorded from "./Recorded.ts"
import * as Size from "./Size.ts"

/** The bounds of a ring. */
export interface Options {
  /** The most recordings; 0 turns them off. Default 64. */
  readonly count?: number | undefined
  /** The most bytes of all recordings. One recording has at most an eighth of them. Default 8 MiB. */
  readonly bytes?: number | undefined
}

/** The default bounds. */
export const usual = { count: 64, bytes: 8 * 1024 * 1024 } as const

/** A recording in a ring. */
export interface Entry {
  readonly recorded: Recorded.Recorded
  readonly bytes: number
}

/** The recordings of a manager. All functions are synchronous. */
export interface Ring {
  /** Keeps the recording of an attempt, if the attempt failed or wrote. */
  readonly record: (attempt: Attempt) => void
  /** The recordings with this trace ID or `reconcileID`, the newest first. A trace may have several attempts. */
  readonly find: (id: string) => ReadonlyArray<Recorded.Recorded>
  /** The trace ID of the recorded attempt with this `reconcileID`; undefined if the ring has no recording of it. */
  readonly traceOf: (id: string) => string | undefined
  /** Whether the attempt with this trace ID or `reconcileID` was too large to keep. */
  readonly isTooLarge: (id: string) => boolean
  /** The newest first. */
  readonly all: () => ReadonlyArray<Entry>
  /** The bytes of all recordings, and the most bytes of one. */
  readonly size: () => { readonly bytes: number; readonly mostOfOne: number }
}

/** The most identifiers of attempts that were too large. */
const mostLarge = 64

/** An ID without dashes. */
const plain = (id: string): string => id.replaceAll("-", "").toLowerCase()

const isSameFailure = (one: Recorded.Recorded, other: Recorded.Recorded): boolean =>
  one.controller === other.controller &&
  one.key === other.key &&
  one.ending.outcome === other.ending.outcome &&
  one.ending.message === other.ending.message &&
  ![...one.requests, ...other.requests].some(Recorded.isWrite)

/** An empty ring. */
export const make = ({ bytes: most = usual.bytes, count = usual.count }: Options = {}): Ring => {
  const mostOfOne = Math.floor(most / 8)
  /** By `reconcileID`, the oldest first. */
  const entries = new Map<string, Entry>()
  /** The latest failure without a write, by controller and object. */
  const failures = new Map<string, string>()
  const large = new Map<string, true>()
  let bytes = 0

  const drop = (id: string): void => {
    const entry = entries.get(id)
    if (entry === undefined) return
    entries.delete(id)
    bytes -= entry.bytes
    const place = `${entry.recorded.controller} ${entry.recorded.key}`
    if (failures.get(place) === id) failures.delete(place)
  }

  const keep = (recorded: Recorded.Recorded): void => {
    const size = Size.within(recorded, mostOfOne)
    if (size === undefined) {
      Bounded.put(large, plain(recorded.id), true, mostLarge)
      Bounded.put(large, plain(recorded.trace), true, mostLarge)
      return
    }
    const place = `${recorded.controller} ${recorded.key}`
    const last = failures.get(place)
    const before = last === undefined ? undefined : entries.get(last)
    if (before !== undefined && isSameFailure(before.recorded, recorded)) drop(before.recorded.id)
    if (!recorded.requests.some(Recorded.isWrite)) failures.set(place, recorded.id)
    entries.set(recorded.id, { recorded, bytes: size })
    bytes += size
    for (const id of entries.keys()) {
      if (entries.size <= count && bytes <= most) break
      drop(id)
    }
  }

  return {
    record: (attempt) => {
      if (count === 0 || !Recorded.isWorth(attempt)) return
      const recorded = Recorded.of(attempt)
      if (recorded !== undefined) keep(recorded)
    },
    find: (id) =>
      Array.from(entries.values(), ({ recorded }) => recorded)
        .filter((each) => plain(each.id) === plain(id) || each.trace === plain(id))
        .reverse(),
    traceOf: (id) => entries.get(id)?.recorded.trace,
    isTooLarge: (id) => large.has(plain(id)),
    all: () => [...entries.values()].reverse(),
    size: () => ({ bytes, mostOfOne })
  }
}
