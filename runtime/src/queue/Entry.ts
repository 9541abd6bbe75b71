/**
 * The record of one key in a work queue. The structures that order keys (`Ready`, `Delayed`) keep their links in it, so a move between
 * them allocates nothing.
 */
import type { Runs, Version } from "./WrittenVersions.ts"

/**
 * The state of the *next* run of the key. `Entry.running` is the state of the current run.
 * - `idle`: no further run
 * - `ready`: a run as soon as a worker is free and no run of the key is in progress
 * - `delayed`: a run at `dueAt`
 * - `undecided`: only during a run. All triggers since its start may be echoes of this run.
 */
export type Place = "idle" | "ready" | "delayed" | "undecided"

/** A trigger of the next run. */
export interface Entered<T> {
  readonly trigger: T
  readonly priority: number
  /** The version that the trigger reports, if a run of the key may have written it. */
  readonly version: Version | undefined
  /** False once the version is known to be an own write of the key. */
  isNews: boolean
  isDropped: boolean
}

/** The list of one priority in `Ready`. */
export interface Level<T> {
  readonly priority: number
  first: Entry<T> | undefined
  last: Entry<T> | undefined
  size: number
}

/** Mutable, and private to one queue. Times are milliseconds of the Clock, except `dueAt`. */
export class Entry<T> {
  place: Place = "idle"
  running = false
  /** When a worker took the key. */
  startedAt = 0
  priority = 0
  /** The triggers of the next run, oldest first. */
  triggers: Array<Entered<T>> | undefined = undefined
  /** The number of older triggers that were dropped. */
  dropped = 0
  /** The number of dropped triggers that were not echoes. */
  droppedNews = 0
  /** Triggers with a version that arrived during the run. `done` compares them with the writes of the run. */
  undecided: Array<Entered<T>> | undefined = undefined
  /** The writes of the latest runs since the key was idle. */
  own: Runs | undefined = undefined
  /** The triggers of the run in progress, for `putBack`. */
  handedOut: ReadonlyArray<Entered<T>> = []
  /** When the first of those triggers arrived. */
  addedAt = 0
  /** When the next run became ready. */
  enqueuedAt = 0
  /** When a delayed run becomes ready, in monotonic ms, so that a change of the machine's time has no effect. */
  dueAt = 0
  /** `Delayed`: index in the heap. */
  slot = -1
  /** `Delayed`: the rank among equal times. `Fair`: the rank among equal priorities. */
  rank = 0
  /** `Fair`: whether the entry was set aside. */
  isAside = false
  /** `Ready`: the list of the entry, and its neighbours. */
  level: Level<T> | undefined = undefined
  previous: Entry<T> | undefined = undefined
  next: Entry<T> | undefined = undefined

  constructor(readonly key: string) {}
}
