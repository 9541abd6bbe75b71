/**
 * Collects the garbage of finished worlds. Bun's own collector depends on the memory of the machine, so the process would grow to several
 * times the size of its live objects.
 */
import * as Effect from "effect/Effect"

/** The size of the process, in bytes, below which no collection is necessary. */
const small = 220_000_000

/** The number of worlds between two collections. A collection takes about as long as half a world. */
const fewest = 15

let worlds = 0

/** Counts a finished world. Collects garbage after some worlds if the process is large. */
export const ended: Effect.Effect<void> = Effect.sync(() => {
  worlds++
  if (worlds < fewest || process.memoryUsage.rss() < small) return
  worlds = 0
  Bun.gc(true)
})
