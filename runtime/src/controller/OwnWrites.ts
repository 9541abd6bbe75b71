/**
 * The latest writes of a controller's reconciles. Metrics and `why` use them to recognise the event of an own write. The queue has its
 * own rule: see `queue/WorkQueue`.
 */
import * as Bounded from "../resource/Bounded.ts"
import type * as Metrics from "../telemetry/Metrics.ts"

/** A version of an object that a reconcile wrote. Times are milliseconds of the Clock. */
export interface OwnWrite {
  readonly uid: string
  /** The hash of the key of the object that was reconciled, so that no name of a deleted object stays in memory. */
  readonly key: bigint
  readonly answeredAt: number
  /** When the oldest change arrived that triggered the reconcile; absent if there is none, or its event was counted. */
  arrivedAt: number | undefined
  readonly trace: Metrics.Trace | undefined
}

/** See {@link OwnWrite.key}. */
export const hash = (key: string): bigint => Bun.hash.wyhash(key)

/** The latest writes. */
export interface OwnWrites {
  readonly record: (resourceVersion: string, write: OwnWrite) => void
  /** The write that created this version of an object. */
  readonly find: (version: {
    readonly uid?: string | undefined
    readonly resourceVersion: string
  }) => OwnWrite | undefined
}

/** Without a write. `capacity`: how many writes are kept. */
export const make = (capacity = 4096): OwnWrites => {
  const writes = new Map<string, OwnWrite>()
  return {
    record: (resourceVersion, write) => Bounded.put(writes, resourceVersion, write, capacity),
    find: ({ resourceVersion, uid }) => {
      const write = writes.get(resourceVersion)
      return write?.uid === uid ? write : undefined
    }
  }
}
