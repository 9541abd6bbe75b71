/**
 * Which object versions are our own doing: a bounded memory of the answers to our writes.
 */
import * as Bounded from "../resource/Bounded.ts"

/** Remembers writes by UID, which Kubernetes never uses twice, and resourceVersion. */
export interface OwnWrites {
  readonly remember: (uid: string, resourceVersion: string) => void
  /** Whether a response to one of our writes carried exactly this version of this object. */
  readonly has: (uid: string, resourceVersion: string) => boolean
  /** How many objects it knows writes of. */
  readonly size: () => number
}

/** Versions remembered per object. Writes of one reconcile are few, and their echoes come within milliseconds. */
const versions = 8

/**
 * An empty memory.
 *
 * @param capacity how many objects are remembered; the one whose last write is the oldest goes first. 8192 objects are about
 * 1.5 MB, far more than can be written between a response and its event.
 */
export const make = (capacity = 8192): OwnWrites => {
  const memory = new Map<string, Array<string>>()
  return {
    remember: (uid, resourceVersion) => {
      const known = memory.get(uid) ?? []
      Bounded.put(memory, uid, known, capacity)
      if (known.includes(resourceVersion)) return
      known.push(resourceVersion)
      if (known.length > versions) known.shift()
    },
    has: (uid, resourceVersion) => memory.size > 0 && (memory.get(uid)?.includes(resourceVersion) ?? false),
    size: () => memory.size
  }
}
