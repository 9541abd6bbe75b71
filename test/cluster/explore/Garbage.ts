/**
 * Collects the garbage of finished worlds. Bun's own collector depends on the memory of the machine, so the process would grow to several
 * times the size of its live objects.
 */
import * as Effect from "effect/Effect"

/** The growth of the process since the last collection, in bytes, after which a collection is necessary. */
const growth = 100_000_000

/** The size of the process, in bytes, below which no collection is necessary. */
const small = 220_000_000

/** The size of the process, in bytes, at which the next collection is due. */
let enough = small

/** Collects garbage after a world if the process has grown. */
export const ended: Effect.Effect<void> = Effect.sync(() => {
  if (process.memoryUsage.rss() < enough) return
  Bun.gc(true)
  enough = Math.max(small, process.memoryUsage.rss() + growth)
})
