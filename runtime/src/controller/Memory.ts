/**
 * The state that a controller keeps between reconciles. A missing entry, as after a restart, costs at most one request.
 */
import { canonical, type Difference } from "./Drift.ts"
import * as HotLoop from "./HotLoop.ts"

/** The memory of one controller. Entries by UID are removed with their object. */
export interface Memory {
  /**
   * Keeps the differences between a write and the stored object (another notation of a quantity, a pruned field). They do not count as
   * drift. `slot` is the child, or `status`.
   */
  readonly accept: (uid: string, slot: string, differences: ReadonlyArray<Difference>) => void
  /** Whether these are exactly the differences that the server made of the last write. */
  readonly accepted: (uid: string, slot: string, differences: ReadonlyArray<Difference>) => boolean
  /** Keeps that the server drops an empty value at a path of a kind. That holds for every object of the kind. */
  readonly drop: (kind: string, path: string) => void
  /** Whether the server drops an empty value there. */
  readonly isDropped: (kind: string, path: string) => boolean
  /** Whether this line is new: the log reports a fact about a kind once, not for every object. */
  readonly isNews: (line: string) => boolean
  /** Keeps that the object with this key waits for the name of a child that a foreign object has. Returns whether that is new. */
  readonly block: (child: string, owner: string) => boolean
  /** The objects that wait for this name: a change of the foreign object triggers their reconcile. */
  readonly waiting: (child: string) => Iterable<string>
  /** The object no longer waits for this name. */
  readonly unblock: (child: string, owner: string) => void
  /** Keeps that another controller applied this child of the owner. */
  readonly addForeign: (owner: string, child: string) => void
  /** Whether another controller applied this child of the owner, by their UIDs. */
  readonly isForeign: (owner: string, child: string) => boolean
  /** The UIDs of deleted objects whose clean-up has finished. */
  readonly clean: Set<string>
  /** The UIDs of objects that the API server no longer has, even if the cache still has them. */
  readonly gone: Set<string>
  /** The UIDs of cached objects that lost a child: they may be deleted themselves, and the cache does not have that yet. */
  readonly bereft: Set<string>
  /** The latest report of this controller on each object, by UID: its message, and its time in milliseconds of the Clock. */
  readonly reports: Map<string, { readonly message: string; readonly at: number }>
  /** The writes that may be part of a hot loop. */
  readonly hotLoop: HotLoop.HotLoop
  /** Removes the entries of a deleted object. */
  readonly forget: (uid: string, key: string) => void
}

/** An empty memory, with the writes of earlier terms. */
export const make = (hotLoop: HotLoop.HotLoop = HotLoop.make()): Memory => {
  // Hashes, so that a refused value of a megabyte is not kept.
  const answers = new Map<string, Map<string, bigint>>()
  const blocked = new Map<string, Set<string>>()
  /** The names that each object waits for. */
  const places = new Map<string, Set<string>>()
  /** The UIDs of the children of other controllers, by that of their owner. */
  const foreign = new Map<string, Set<string>>()
  const clean = new Set<string>()
  const gone = new Set<string>()
  const bereft = new Set<string>()
  const reports: Memory["reports"] = new Map()
  const said = new Set<bigint>()
  const dropped = new Set<bigint>()
  const typeOf = (kind: string, path: string): bigint =>
    Bun.hash.wyhash(`${kind} ${path.replaceAll(/\[[^[\]]*\]/g, "[]")}`)
  const hash = (differences: ReadonlyArray<Difference>): bigint =>
    Bun.hash.wyhash(canonical(differences.map(({ path, want, have }) => ({ path, want, have }))))
  const remove = (sets: Map<string, Set<string>>, key: string, member: string): void => {
    const set = sets.get(key)
    set?.delete(member)
    if (set?.size === 0) sets.delete(key)
  }
  const unblock = (child: string, owner: string): void => {
    if (blocked.get(child)?.has(owner) !== true) return
    remove(blocked, child, owner)
    remove(places, owner, child)
  }

  return {
    accept: (uid, slot, differences) => {
      if (differences.length === 0) return void answers.get(uid)?.delete(slot)
      const slots = answers.get(uid) ?? new Map<string, bigint>()
      answers.set(uid, slots.set(slot, hash(differences)))
    },
    accepted: (uid, slot, differences) => {
      const answer = answers.get(uid)?.get(slot)
      return answer !== undefined && answer === hash(differences)
    },
    drop: (kind, path) => {
      // A path may contain a key that users choose.
      if (dropped.size >= 1000) dropped.clear()
      dropped.add(typeOf(kind, path))
    },
    isDropped: (kind, path) => dropped.has(typeOf(kind, path)),
    isNews: (line) => {
      // Lines name fields, so there are few. If there are too many, a repeated line does less harm than growth.
      if (said.size >= 1000) said.clear()
      return said.size < said.add(Bun.hash.wyhash(line)).size
    },
    block: (child, owner) => {
      const waiting = blocked.get(child)
      if (waiting?.has(owner) === true) return false
      blocked.set(child, (waiting ?? new Set()).add(owner))
      places.set(owner, (places.get(owner) ?? new Set()).add(child))
      return true
    },
    waiting: (child) => blocked.get(child) ?? [],
    unblock,
    addForeign: (owner, child) => void foreign.set(owner, (foreign.get(owner) ?? new Set()).add(child)),
    isForeign: (owner, child) => foreign.get(owner)?.has(child) === true,
    clean,
    gone,
    bereft,
    reports,
    hotLoop,
    forget: (uid, key) => {
      hotLoop.forget(uid)
      for (const kept of [answers, clean, foreign, gone, bereft, reports]) kept.delete(uid)
      for (const child of places.get(key) ?? []) unblock(child, key)
    }
  }
}
