/**
 * What this process holds: memory, and things that go on by themselves.
 */
import { heapStats } from "bun:jsc"
import { readdirSync, readlinkSync } from "node:fs"

/** What was found at a moment, after garbage was collected. */
export interface Footprint {
  /** JavaScript's live memory. */
  readonly heapMiB: number
  /** What the system has given to the process. */
  readonly residentMiB: number
  /** Timers that were set and are neither over nor cleared. */
  readonly timers: number
  /** Open sockets; on systems without `/proc` 0. */
  readonly sockets: number
}

const mebi = 2 ** 20

const socketsOf = (): number => {
  try {
    return readdirSync("/proc/self/fd").filter((descriptor) => {
      try {
        return readlinkSync(`/proc/self/fd/${descriptor}`).startsWith("socket:")
      } catch {
        // The descriptor that read the folder.
        return false
      }
    }).length
  } catch {
    return 0
  }
}

/** Collects garbage, and looks. */
export const take = (): Footprint => {
  // What the first collection finalizes, the second one frees.
  Bun.gc(true)
  Bun.gc(true)
  const { heapSize, objectTypeCounts } = heapStats()
  return {
    heapMiB: heapSize / mebi,
    residentMiB: process.memoryUsage.rss() / mebi,
    timers: objectTypeCounts.Timeout ?? 0,
    sockets: socketsOf()
  }
}

interface HeapSnapshot {
  readonly strings: ReadonlyArray<string>
}

/** The strings in the memory that match: whatever still knows of an object knows its name. Takes a while, and memory. */
export const mentions = (pattern: RegExp): ReadonlyArray<string> => {
  // The format is V8's, which names each string that lives.
  const snapshot = JSON.parse(Bun.generateHeapSnapshot("v8")) as HeapSnapshot
  return snapshot.strings.filter((text) => pattern.test(text))
}
