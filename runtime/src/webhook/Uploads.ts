/**
 * The requests whose bodies are in memory. Every pod can reach the port of the webhooks, so the memory for bodies has a limit. A client
 * that sends slowly loses its place to another one.
 */
import type * as Clock from "effect/Clock"

/** Concurrent requests. */
export const mostRequests = 200

/** The part of each body that does not count, in bytes. Almost all reviews are smaller, so large ones do not hinder them. */
export const smallBytes = 128 * 1024

/** The limit for the other parts of all bodies together, in bytes. */
export const mostLargeBytes = 16 * 1024 * 1024

/** The time after which an incomplete body may lose its place, in ms. The API server sends a body at once. */
const slowMillis = 1000

/** A request. */
export interface Upload {
  readonly since: number
  /** The bytes of its body that count. */
  counted: number
  isComplete: boolean
  /** Rejects the request. */
  readonly abort: () => void
}

/** The requests of a server. */
export interface Uploads {
  /** The number of requests. */
  readonly size: () => number
  /** Adds a request. Undefined: there are too many. `abort` is called when the request loses its place. */
  readonly add: (abort: () => void) => Upload | undefined
  /** Counts the body of a request, which has this many bytes now. False: there is no memory for it. */
  readonly grow: (upload: Upload, bytes: number) => boolean
  /** Removes a request after its answer. */
  readonly remove: (upload: Upload) => void
}

/** No requests. */
export const make = (clock: Clock.Clock): Uploads => {
  const uploads = new Set<Upload>()
  let counted = 0
  const remove = (upload: Upload): void => {
    if (uploads.delete(upload)) counted -= upload.counted
  }
  /** Aborts the incomplete request with the most bytes, or else the oldest one. False: all have their bodies, or are new. */
  const evict = (): boolean => {
    const slow = clock.unsafeCurrentTimeMillis() - slowMillis
    let found: Upload | undefined
    for (const upload of uploads) {
      if (upload.isComplete || upload.since > slow) continue
      if (found === undefined || upload.counted > found.counted) found = upload
    }
    if (found === undefined) return false
    remove(found)
    found.abort()
    return true
  }
  return {
    size: () => uploads.size,
    add: (abort) => {
      if (uploads.size >= mostRequests && !evict()) return undefined
      const upload = { since: clock.unsafeCurrentTimeMillis(), counted: 0, isComplete: false, abort }
      uploads.add(upload)
      return upload
    },
    grow: (upload, bytes) => {
      const more = Math.max(0, bytes - smallBytes) - upload.counted
      while (more > 0 && counted + more > mostLargeBytes) if (!evict()) return false
      // The eviction can have removed this request itself.
      if (!uploads.has(upload)) return false
      upload.counted += more
      counted += more
      return true
    },
    remove
  }
}
