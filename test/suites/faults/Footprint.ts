/** Measures the memory, timers and sockets of this process. */
import { heapStats } from "bun:jsc"
import { readdirSync, readlinkSync } from "node:fs"

/** The resources of this process at one moment, after a garbage collection. */
export interface Footprint {
  /** The live heap of JavaScript, in MiB. */
  readonly heapMiB: number
  /** The resident set size of the process, in MiB. */
  readonly residentMiB: number
  /** Timers that are set and have neither fired nor been cleared. */
  readonly timers: number
  /** Open sockets. The count is 0 on systems without `/proc`. */
  readonly sockets: number
}

const mebi = 2 ** 20

const socketsOf = (): number => {
  try {
    return readdirSync("/proc/self/fd").filter((descriptor) => {
      try {
        return readlinkSync(`/proc/self/fd/${descriptor}`).startsWith("socket:")
      } catch {
        // This is the descriptor of the folder listing itself, which is closed by now.
        return false
      }
    }).length
  } catch {
    return 0
  }
}

/** Collects garbage, and returns the resources that remain. */
export const take = (): Footprint => {
  // The second collection frees the objects that the first one finalized.
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

/**
 * Returns the strings on the heap that match the pattern. An object that still refers to a Kubernetes object usually holds its name. A
 * snapshot is slow and needs much memory.
 */
export const mentions = (pattern: RegExp): ReadonlyArray<string> => {
  // A snapshot in V8's format lists each live string.
  const snapshot = JSON.parse(Bun.generateHeapSnapshot("v8")) as HeapSnapshot
  return snapshot.strings.filter((text) => pattern.test(text))
}
