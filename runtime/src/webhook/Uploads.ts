/**
 * The requests whose bodies are in memory. Every pod can reach the port of the webhooks, so their number and their bodies have limits. A
 * request beyond them waits, and a client that sends slowly loses its place.
 */
import type * as Clock from "effect/Clock"

/** Concurrent requests. Three API servers make as many writes at a time by default. */
export const mostRequests = 600

/** The part of each body that does not count, in bytes. Almost all reviews are smaller, so large ones do not hinder them. */
export const smallBytes = 64 * 1024

/** The limit for the other parts of all bodies together, in bytes. */
export const mostLargeBytes = 16 * 1024 * 1024

/** The limit for the requests that wait, in bytes: for what has arrived together with their heads. */
export const mostWaitingBytes = 8 * 1024 * 1024

/** The requests that may wait. Three API servers send fewer at a time than the server answers. */
export const mostWaiting = 200

/** The memory of a waiting request beside its body, in bytes. */
export const requestBytes = 8 * 1024

/** The time after which an incomplete body may lose its place, in ms. The API server sends a body at once. */
const slowMillis = 1000

/** A request. */
export interface Upload {
  since: number
  /** The bytes of its body that count. */
  counted: number
  /** Whether there is memory for its body. */
  isReading: boolean
  isComplete: boolean
  /** Rejects the request. */
  readonly abort: () => void
}

/** A request that waits for memory. */
interface Waiting {
  readonly length: number
  readonly arrived: number
  /** The time at which it gives up, in ms since 1970. */
  readonly until: number
  readonly read: () => void
}

/** The requests of a server. */
export interface Uploads {
  /** The number of requests, with those that wait. */
  readonly size: () => number
  /** Whether requests wait; then the caller calls `retry` often. */
  readonly isWaiting: () => boolean
  /**
   * Adds a request with a body of this length, of which a part has arrived. A request that is not `isReading` waits: `read` is called as
   * soon as there is memory for it. `abort` is called when the request loses its place, or gets none within the time in ms. Undefined: too
   * many wait.
   */
  readonly add: (
    body: { readonly length: number; readonly arrived: number },
    patience: number,
    read: () => void,
    abort: () => void
  ) => Upload | undefined
  /** Removes a request after its answer. */
  readonly remove: (upload: Upload) => void
  /** Takes the places of slow clients, and gives up on requests that have waited too long. */
  readonly retry: () => void
}

/** No requests. */
export const make = (clock: Clock.Clock): Uploads => {
  const uploads = new Set<Upload>()
  /** In the order of their arrival. */
  const waiting = new Map<Upload, Waiting>()
  let counted = 0
  let waitingBytes = 0
  const forget = (upload: Upload): void => {
    const each = waiting.get(upload)
    if (each !== undefined && waiting.delete(upload)) waitingBytes -= each.arrived + requestBytes
  }
  const release = (upload: Upload): void => {
    if (uploads.delete(upload)) counted -= upload.counted
  }
  /** Aborts the incomplete request with the most bytes, or else the oldest one. False: all have their bodies, or are new. */
  const evict = (): boolean => {
    const slow = clock.currentTimeMillisUnsafe() - slowMillis
    let found: Upload | undefined
    for (const upload of uploads) {
      if (upload.isComplete || upload.since > slow) continue
      if (found === undefined || upload.counted > found.counted) found = upload
    }
    if (found === undefined) return false
    release(found)
    found.abort()
    return true
  }
  const fits = (bytes: number): boolean => uploads.size < mostRequests && counted + bytes <= mostLargeBytes
  /** The bytes of a body that count. */
  const largeOf = (bytes: number): number => Math.max(0, bytes - smallBytes)
  const start = (upload: Upload, bytes: number): void => {
    upload.isReading = true
    upload.since = clock.currentTimeMillisUnsafe()
    upload.counted = largeOf(bytes)
    counted += upload.counted
    uploads.add(upload)
  }
  /** Starts the requests that fit, in their order. */
  const startAll = (): void => {
    for (const [upload, { length, read }] of waiting) {
      if (!fits(largeOf(length))) continue
      forget(upload)
      start(upload, length)
      read()
    }
  }
  return {
    size: () => uploads.size + waiting.size,
    isWaiting: () => waiting.size > 0,
    add: ({ arrived, length }, patience, read, abort) => {
      const now = clock.currentTimeMillisUnsafe()
      const upload = { since: now, counted: 0, isReading: false, isComplete: false, abort }
      if (fits(largeOf(length))) start(upload, length)
      else {
        if (waiting.size >= mostWaiting || waitingBytes + arrived + requestBytes > mostWaitingBytes) return undefined
        waiting.set(upload, { length, arrived, until: now + patience, read })
        waitingBytes += arrived + requestBytes
      }
      return upload
    },
    remove: (upload) => {
      forget(upload)
      release(upload)
      startAll()
    },
    retry: () => {
      const now = clock.currentTimeMillisUnsafe()
      for (const [upload, { until }] of waiting) {
        if (now < until) continue
        forget(upload)
        upload.abort()
      }
      startAll()
      while (waiting.size > 0 && evict()) startAll()
    }
  }
}
