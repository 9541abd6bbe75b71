/**
 * What a controller remembers between reconciles. It is right without any of it: after a restart, a forgotten entry costs a
 * request at most.
 */
import { canonical, type Difference } from "./Drift.ts"
import * as HotLoop from "./HotLoop.ts"

/** One controller's memory. What is kept per uid of a reconciled object goes with it. */
export interface Memory {
  /**
   * Remembers that the server stores what we sent otherwise (a quantity written another way, a field its schema prunes), so
   * that it is not taken for drift for ever. `slot` is the child, or `status`.
   */
  readonly accept: (uid: string, slot: string, differences: ReadonlyArray<Difference>) => void
  /** Whether just these differences are what the server made of our last write. */
  readonly accepted: (uid: string, slot: string, differences: ReadonlyArray<Difference>) => boolean
  /** Remembers that the server drops an empty value at a path of a kind: a fact of its type, and of no single child. */
  readonly drop: (kind: string, path: string) => void
  /** Whether the server drops it. */
  readonly isDropped: (kind: string, path: string) => boolean
  /** Whether this line was not said before: what is true of a whole kind is said once, not for every object. */
  readonly isNews: (line: string) => boolean
  /** Remembers that the object with this key waits for a child's place, held by a foreign object. True if that is news. */
  readonly block: (child: string, owner: string) => boolean
  /** Who waits for this place: its change may concern them. */
  readonly waiting: (child: string) => Iterable<string>
  /** The place is no longer held against this object. */
  readonly unblock: (child: string, owner: string) => void
  /** Remembers that the clean-up of a deleted object has succeeded. */
  readonly cleaned: (uid: string) => void
  /** Whether it has. */
  readonly isClean: (uid: string) => boolean
  /** Remembers that the API server no longer has the object of this uid, though the cache may have it still. */
  readonly gone: (uid: string) => void
  /** Whether that was so. */
  readonly isGone: (uid: string) => boolean
  /** What was written, as far as it may have been in vain. */
  readonly hotLoop: HotLoop.HotLoop
  /** Forgets an object that is gone. */
  readonly forget: (uid: string, key: string) => void
}

/** An empty memory, but for what is known of writes from before. */
export const make = (hotLoop: HotLoop.HotLoop = HotLoop.make()): Memory => {
  // Hashes: of a refused value of a megabyte nothing is to be kept.
  const answers = new Map<string, Map<string, bigint>>()
  const blocked = new Map<string, Set<string>>()
  /** The places that each object waits for. */
  const places = new Map<string, Set<string>>()
  const clean = new Set<string>()
  const deleted = new Set<string>()
  const said = new Set<bigint>()
  const dropped = new Set<bigint>()
  const typeOf = (kind: string, path: string): bigint =>
    Bun.hash.wyhash(`${kind} ${path.replaceAll(/\[[^[\]]*\]/g, "[]")}`)
  const hash = (differences: ReadonlyArray<Difference>): bigint =>
    Bun.hash.wyhash(canonical(differences.map(({ path, want, have }) => ({ path, want, have }))))
  const remove = (sets: Map<string, Set<string>>, key: string, member: string): void => {
    const set = sets.get(key)
    if (set?.delete(member) === true && set.size === 0) sets.delete(key)
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
      // A path may hold a key that users choose.
      if (dropped.size >= 1000) dropped.clear()
      dropped.add(typeOf(kind, path))
    },
    isDropped: (kind, path) => dropped.has(typeOf(kind, path)),
    isNews: (line) => {
      // Lines name fields, of which there are few; should they ever be many, saying one again is the smaller evil.
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
    cleaned: (uid) => void clean.add(uid),
    isClean: (uid) => clean.has(uid),
    gone: (uid) => void deleted.add(uid),
    isGone: (uid) => deleted.has(uid),
    hotLoop,
    forget: (uid, key) => {
      hotLoop.forget(uid)
      answers.delete(uid)
      clean.delete(uid)
      deleted.delete(uid)
      for (const child of places.get(key) ?? []) unblock(child, key)
    }
  }
}
