/**
 * One key's record in a work queue. The queue keeps exactly one per key, and the structures that order keys (`Ready`, `Delayed`) thread
 * their links through it. So moving a key between them allocates nothing.
 */
import type { Runs, Version } from "./WrittenVersions.ts"

/**
 * Where the key's *next* run stands. A run in progress is independent of it: that is `Entry.running`.
 * - `idle`: no further run is wanted
 * - `ready`: as soon as a worker is free and no run of the key is in progress
 * - `delayed`: at `dueAt`
 * - `undecided`: only while running. Each trigger since the run began is the event of a write, perhaps of this run's.
 */
export type Place = "idle" | "ready" | "delayed" | "undecided"

/** A trigger in an entry. */
export interface Entered<T> {
  readonly trigger: T
  readonly priority: number
  /** The version that the trigger reports, if a run of the key may have written it. */
  readonly version: Version | undefined
  /** False once the version is known to be an own write of the key. */
  isNews: boolean
  isDropped: boolean
}

/** The line of one priority in `Ready`. */
export interface Level<T> {
  readonly priority: number
  first: Entry<T> | undefined
  last: Entry<T> | undefined
  size: number
}

/** Mutable, and owned by one queue: nothing outside this folder sees it. Times are the Clock's, but for `dueAt`. */
export class Entry<T> {
  place: Place = "idle"
  running = false
  /** When the run in progress was handed out. */
  startedAt = 0
  priority = 0
  /** The triggers of the next run, oldest first. */
  triggers: Array<Entered<T>> | undefined = undefined
  /** How many older triggers made room for the ones kept. */
  dropped = 0
  /** The number of those that were not echoes. */
  droppedNews = 0
  /** Triggers that arrived during the run in progress with a version. `done` compares them with what the run wrote. */
  undecided: Array<Entered<T>> | undefined = undefined
  /** The writes of the latest runs, since the key was at rest. */
  own: Runs | undefined = undefined
  /** The triggers of the run in progress, for a key that is put back. */
  handedOut: ReadonlyArray<Entered<T>> = []
  /** When the first of those triggers arrived. */
  addedAt = 0
  /** When the next run became ready. */
  enqueuedAt = 0
  /** When a delayed run becomes ready, in monotonic time: whatever the machine's time is set to meanwhile. */
  dueAt = 0
  /** `Delayed`: index in the heap, and the rank among equal times. */
  slot = -1
  rank = 0
  /** `Ready`: the list the entry is in, and its neighbours there. */
  level: Level<T> | undefined = undefined
  previous: Entry<T> | undefined = undefined
  next: Entry<T> | undefined = undefined

  constructor(readonly key: string) {}
}
