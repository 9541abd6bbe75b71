/**
 * One key's record in a work queue. The queue keeps exactly one per key, and the structures that order keys (`Ready`,
 * `Delayed`) thread their links through it, so that moving a key between them allocates nothing.
 */

/**
 * Where the key's *next* run stands. A run in progress is independent of it: that is `Entry.running`.
 * - `idle`: no further run is wanted
 * - `ready`: as soon as a worker is free and no run of the key is in progress
 * - `delayed`: at `dueAt`
 * - `echoed`: only while running. Nothing but echoes of our own writes arrived since the run began; how the run ends
 *   decides what becomes of them.
 */
export type Place = "idle" | "ready" | "delayed" | "echoed"

/** What asked for a run, and whether it is more than the echo of our own write, which may be known only later. */
export interface Entered<T> {
  readonly trigger: T
  readonly isNews: boolean | (() => boolean)
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
  /** What asks for the next run, oldest first. */
  triggers: Array<Entered<T>> | undefined = undefined
  /** How many older triggers made room for the ones kept. */
  dropped = 0
  /** How many of those were more than echoes, as far as that is known, */
  droppedNews = 0
  /** and of which it is to be asked once their run is handed out: by then the writes before it are answered. */
  droppedDoubts: Array<() => boolean> | undefined = undefined
  /** What asked for the run in progress, should it be put back. */
  handedOut: ReadonlyArray<Entered<T>> = []
  /** When the first of those triggers arrived. */
  addedAt = 0
  /** When the next run became ready. */
  enqueuedAt = 0
  /** When a delayed run becomes ready, in monotonic time: whatever the machine's time is set to meanwhile. */
  dueAt = 0
  /** While `echoed`: asks, of each trigger that may be an echo or not, whether it was none. */
  doubts: Array<() => boolean> | undefined = undefined
  /** `Delayed`: index in the heap, and the rank among equal times. */
  slot = -1
  rank = 0
  /** `Ready`: the list the entry is in, and its neighbours there. */
  level: Level<T> | undefined = undefined
  previous: Entry<T> | undefined = undefined
  next: Entry<T> | undefined = undefined

  constructor(readonly key: string) {}
}
