/**
 * Whose turn it is: one mover at a time on a repository (two that begin a repository at once destroy it, and prune bears nobody
 * beside it), and only so many movers in all.
 *
 * Whether a repository is free is read from Jobs and pods, so that a manager that starts knows as much as the one before. Here is
 * what they do not tell: that nobody else of this process decides at the same moment, and who waits, to be woken when a Job ends.
 */
import { keyString, type ObjectKey, parseKey } from "@homeostat/runtime/resource/KubernetesObject"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"

/** The kinds that wait. */
export type Kind = "Backup" | "Restore"

/** For what one waits: a repository, by its hash, or for fewer movers, whatever they work on. */
export const place = ""

/**
 * How many of those that wait for the same are woken at once. One would do, were it certain that it still wants its turn; all
 * would ask in vain, but for one.
 */
const woken = 2

/** Who decides and who waits. */
export interface Registry {
  /** Looks and starts, without anybody beside. */
  readonly alone: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /**
   * Who waits for the same as before keeps its turn.
   *
   * @param what a repository's hash, or {@link place}
   */
  readonly wait: (kind: Kind, key: ObjectKey, what: string) => Effect.Effect<void>
  readonly leave: (kind: Kind, key: ObjectKey) => Effect.Effect<void>
  /**
   * Who is to be woken when a mover of this repository has ended: the first of those that wait for it, and of those that wait for
   * any place.
   *
   * @param exists whether one is still there: who is not has left
   */
  readonly next: <E, R>(
    kind: Kind,
    repository: string,
    exists: (key: ObjectKey) => Effect.Effect<boolean, E, R>
  ) => Effect.Effect<ReadonlyArray<ObjectKey>, E, R>
}

/** An empty registry. */
export const make = (): Registry => {
  const one = Effect.unsafeMakeSemaphore(1)
  /** By key, for what; the first to come first. */
  const waiting = { Backup: new Map<string, string>(), Restore: new Map<string, string>() }
  return {
    alone: one.withPermits(1),
    wait: (kind, key, what) =>
      Effect.sync(() => {
        const name = keyString(key)
        if (waiting[kind].get(name) === what) return
        waiting[kind].delete(name)
        waiting[kind].set(name, what)
      }),
    leave: (kind, key) => Effect.sync(() => void waiting[kind].delete(keyString(key))),
    next: (kind, repository, exists) =>
      Effect.gen(function* () {
        const found: Array<ObjectKey> = []
        for (const wanted of [repository, place]) {
          let count = 0
          for (const [name, what] of waiting[kind]) {
            if (what !== wanted) continue
            if (yield* exists(parseKey(name))) {
              found.push(parseKey(name))
              count++
            } else waiting[kind].delete(name)
            if (count === woken) break
          }
        }
        return found
      })
  }
}

/** The registry of a process: its Backups and Restores share it. */
export class Turns extends Context.Reference<Turns>()("@homeostat/backup/Turns", { defaultValue: make }) {}
