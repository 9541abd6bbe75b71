/**
 * When our own writes can be seen: the moments at which they were both answered and told by a watch, whichever came second. Of
 * several watches that tell of one object the first counts, so another may not have told of it yet. For measuring how fresh
 * the picture is; nothing waits for it.
 *
 * Bounded: most writes are never asked about, and of a kind that is not followed no watch ever tells. So both memories have two
 * halves, young and old: when the young one is full, the old one goes, whole. (One that makes place for each newcomer costs more
 * for each the longer it lives: the engine looks through the places of those that went before.)
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

/** What is known of the latest writes. */
interface Latest<A> {
  readonly has: (resourceVersion: string) => boolean
  readonly add: (resourceVersion: string, value: A) => void
  /** Gives what is known, and forgets it. */
  readonly take: (resourceVersion: string) => A | undefined
}

const latest = <A>(half: number): Latest<A> => {
  let young = new Map<string, A>()
  let old = new Map<string, A>()
  return {
    has: (resourceVersion) => young.has(resourceVersion) || old.has(resourceVersion),
    add: (resourceVersion, value) => {
      if (young.size >= half) {
        old = young
        young = new Map()
      }
      young.set(resourceVersion, value)
    },
    take: (resourceVersion) => {
      const value = young.get(resourceVersion) ?? old.get(resourceVersion)
      if (!young.delete(resourceVersion)) old.delete(resourceVersion)
      return value
    }
  }
}

/**
 * An empty memory.
 *
 * @param now milliseconds of the Clock
 * @param capacity how many writes are remembered at most that nobody asked about yet, and how many of those asked about that were
 * not seen yet: of each, at least the latest half as many
 */
export const make = (now: () => number, capacity = 4096): Sightings => {
  const seen = latest<number>(capacity / 2)
  const awaited = latest<(at: number) => void>(capacity / 2)

  return {
    sighted: (resourceVersion) => {
      const tell = awaited.take(resourceVersion)
      if (tell !== undefined) tell(now())
      else if (!seen.has(resourceVersion)) seen.add(resourceVersion, now())
    },
    when: (resourceVersion, tell) => {
      const at = seen.take(resourceVersion)
      if (at === undefined) awaited.add(resourceVersion, tell)
      else tell(at)
    }
  }
}
