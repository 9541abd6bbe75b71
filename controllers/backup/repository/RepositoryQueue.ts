/**
 * The turns of movers on a repository (see `MoverJob.Use`), and limits for all movers. Two movers that create a repository at once destroy
 * it, and prune needs exclusive access.
 *
 * Whether a repository is free follows from Jobs and pods, so that a new manager knows it at once. The registry adds facts of this process:
 * the starts in progress, one at a time for each repository and each namespace, and the objects that wait for the end of a Job.
 */
import { keyString, type ObjectKey } from "@homeostat/runtime/resource/KubernetesObject"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
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
  /**
   * Runs an effect that checks and starts, one at a time for each of these names: those of a repository and of a namespace. So the slow
   * requests of one tenant delay no other. Pass the names in the same order each time.
   */
  readonly alone: (names: ReadonlyArray<string>) => <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /**
   * Decides whether a mover gets a slot, and then starts it. One decision at a time, so the decision must not wait for an answer. A start
   * in progress holds its slot.
   *
   * @param decision the reason to wait; undefined to start
   */
  readonly starting: <B, E, R, A, E2, R2>(
    kind: Kind,
    key: ObjectKey,
    decision: Effect.Effect<B | undefined, E, R>,
    start: Effect.Effect<A, E2, R2>
  ) => Effect.Effect<Result.Result<A, B>, E | E2, R | R2>
  /** The objects whose movers are being started. */
  readonly starts: (kind: Kind) => Iterable<ObjectKey>
  /**
   * Waits. An object that waited for the same before, without {@link leave}, keeps its place.
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

/** The reason of a waiting object, and the starts of its waits by reason. Epoch milliseconds. */
interface Waiting {
  readonly key: ObjectKey
  readonly what: string
  readonly since: ReadonlyMap<string, Wait>
}

interface Wait {
  readonly at: number
  /** The order of the waits of all objects. */
  readonly rank: number
}

/** The reasons of an object that are kept: a repository, a slot, and those of its claims. */
const mostReasons = 8

/** Runs effects one at a time for each name, and keeps nothing about an unused name. */
const turnsOf = () => {
  const locks = new Map<string, { readonly one: Semaphore.Semaphore; users: number }>()
  return (name: string) =>
    <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
      Effect.suspend(() => {
        const lock = locks.get(name) ?? { one: Semaphore.makeUnsafe(1), users: 0 }
        locks.set(name, lock)
        lock.users++
        return Effect.ensuring(
          lock.one.withPermits(1)(effect),
          Effect.sync(() => {
            lock.users--
            if (lock.users === 0) locks.delete(name)
          })
        )
      })
}

/** An empty registry. */
export const make = (): Registry => {
  const turn = turnsOf()
  const decisions = Semaphore.makeUnsafe(1)
  const starts = { Backup: new Map<string, ObjectKey>(), Restore: new Map<string, ObjectKey>() }
  let rank = 0
  /** The keys of waiting objects with their reasons, in order of arrival. */
  const waiting = { Backup: new Map<string, Waiting>(), Restore: new Map<string, Waiting>() }
  return {
    alone: (names) => (effect) => names.reduceRight((inner, name) => turn(name)(inner), effect),
    starting: (kind, key, decision, start) => {
      const name = keyString(key)
      const decided = Effect.map(decision, (busy) => {
        if (busy === undefined) starts[kind].set(name, key)
        return busy
      })
      return Effect.gen(function* () {
        const busy = yield* decisions.withPermits(1)(decided)
        return busy === undefined ? Result.succeed(yield* start) : Result.fail(busy)
      }).pipe(Effect.ensuring(Effect.sync(() => starts[kind].delete(name))))
    },
    starts: (kind) => starts[kind].values(),
    wait: (kind, key, what) =>
      Effect.map(Clock.currentTimeMillis, (at) => {
        const name = keyString(key)
        const before = waiting[kind].get(name)
        if (before?.what === what) return
        const known = [...(before?.since ?? [])].filter(([other]) => other !== what).slice(1 - mostReasons)
        const since = new Map([...known, [what, before?.since.get(what) ?? { at, rank: ++rank }] as const])
        waiting[kind].set(name, { key, what, since })
      }),
    leave: (kind, key) => Effect.sync(() => void waiting[kind].delete(keyString(key))),
    since: (kind, key, wanted) => {
      const { since, what } = waiting[kind].get(keyString(key)) ?? {}
      return what === wanted ? since?.get(wanted)?.at : undefined
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
          const rankOf = ({ since }: Waiting) => since.get(wanted)?.rank ?? 0
          const line = [...waiting[kind]]
            .filter(([, { what }]) => what === wanted)
            .sort(([, one], [, other]) => rankOf(one) - rankOf(other))
          for (const [name, { key }] of line) {
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
