/**
 * When our own writes can be seen by all: the moments at which they were both answered and told by the watch, whichever came
 * second. For measuring how fresh the picture is; nothing waits for it.
 */

/** Known by resourceVersion, which is one write's alone within a cluster. */
export interface Sightings {
  /** A write is answered and told, as of now. The first time counts: several watches may tell of one object. */
  readonly sighted: (resourceVersion: string) => void
  /**
   * Calls `tell` with that time, in ms of the Clock: at once if it has passed, and never if no watch tells of the write. The
   * time is handed out once.
   */
  readonly when: (resourceVersion: string, tell: (at: number) => void) => void
}

/**
 * An empty memory.
 *
 * @param now milliseconds of the Clock
 * @param capacity how many writes are remembered that nobody asked about yet, and how many of those asked about that were not
 * seen yet: the oldest go first
 */
export const make = (now: () => number, capacity = 4096): Sightings => {
  const seen = new Map<string, number>()
  const awaited = new Map<string, (at: number) => void>()

  const keep = <A>(memory: Map<string, A>, resourceVersion: string, value: A): void => {
    if (memory.size >= capacity) {
      const oldest = memory.keys().next()
      if (!oldest.done) memory.delete(oldest.value)
    }
    memory.set(resourceVersion, value)
  }

  return {
    sighted: (resourceVersion) => {
      const tell = awaited.get(resourceVersion)
      if (tell === undefined) {
        if (!seen.has(resourceVersion)) keep(seen, resourceVersion, now())
        return
      }
      awaited.delete(resourceVersion)
      tell(now())
    },
    when: (resourceVersion, tell) => {
      const at = seen.get(resourceVersion)
      if (at === undefined) return keep(awaited, resourceVersion, tell)
      seen.delete(resourceVersion)
      tell(at)
    }
  }
}
