/**
 * The turns of movers on a repository (see `MoverJob.Use`), and limits for all movers. Two movers that create a repository at once destroy
 * it, and prune needs exclusive access.
 *
 * Whether a repository is free follows from Jobs and pods, so that a new manager knows it at once. The registry adds two facts of
 * this process: only one decision at a time, and the objects that wait for the end of a Job.
 */
import { keyString, type ObjectKey } from "@homeostat/runtime/resource/KubernetesObject"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Semaphore from "effect/Semaphore"

/** The kinds with turns. */
export type Kind = "Backup" | "Restore"

/** The key to wait for the global limit, instead of a repository's hash. */
export const place = ""

/**
 * How many waiting objects the end of a Job triggers. One would be enough if it always still wanted its turn; triggering all would
 * waste reconciles.
 */
const woken = 2

/** The decisions and the waiting objects. */
export interface Registry {
  /** Runs an effect exclusively: it checks and starts without another decision at the same time. */
  readonly alone: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /**
   * Waits; an object that already waits for the same keeps its place.
   *
   * @param what a repository's hash, or {@link place}
   */
  readonly wait: (kind: Kind, key: ObjectKey, what: string) => Effect.Effect<void>
  readonly leave: (kind: Kind, key: ObjectKey) => Effect.Effect<void>
  /** When an object began to wait for this, in epoch milliseconds. Undefined: it does not wait for this. */
  readonly since: (kind: Kind, key: ObjectKey, what: string) => number | undefined
  /** Whether one of the objects that wait for this meets a condition. */
  readonly someWaits: (kind: Kind, what: string, test: (key: ObjectKey) => boolean) => boolean
  /**
   * The objects to trigger at the end of a mover of this repository: the first that wait for it, and for the global limit.
   *
   * @param exists whether a waiting object still exists; others are removed
   */
  readonly next: <E, R>(
    kind: Kind,
    repository: string,
    exists: (key: ObjectKey) => Effect.Effect<boolean, E, R>
  ) => Effect.Effect<ReadonlyArray<ObjectKey>, E, R>
}

/** The reason of a waiting object, and the start of the wait in epoch milliseconds. */
interface Waiting {
  readonly key: ObjectKey
  readonly what: string
  readonly since: number
}

/** An empty registry. */
export const make = (): Registry => {
  const one = Semaphore.makeUnsafe(1)
  /** The keys of waiting objects with their reasons, in order of arrival. */
  const waiting = { Backup: new Map<string, Waiting>(), Restore: new Map<string, Waiting>() }
  return {
    alone: one.withPermits(1),
    wait: (kind, key, what) =>
      Effect.map(Clock.currentTimeMillis, (since) => {
        const name = keyString(key)
        if (waiting[kind].get(name)?.what === what) return
        waiting[kind].delete(name)
        waiting[kind].set(name, { key, what, since })
      }),
    leave: (kind, key) => Effect.sync(() => void waiting[kind].delete(keyString(key))),
    since: (kind, key, wanted) => {
      const { since, what } = waiting[kind].get(keyString(key)) ?? {}
      return what === wanted ? since : undefined
    },
    someWaits: (kind, wanted, test) => {
      for (const { key, what } of waiting[kind].values()) if (what === wanted && test(key)) return true
      return false
    },
    next: (kind, repository, exists) =>
      Effect.gen(function* () {
        const found: Array<ObjectKey> = []
        for (const wanted of [repository, place]) {
          let count = 0
          for (const [name, { key, what }] of waiting[kind]) {
            if (what !== wanted) continue
            if (yield* exists(key)) {
              found.push(key)
              count++
            } else waiting[kind].delete(name)
            if (count === woken) break
          }
        }
        return found
      })
  }
}

/** The registry of a process, which Backups and Restores share. */
export const RepositoryQueue = Context.Reference("@homeostat/backup/repository/RepositoryQueue", { defaultValue: make })
