/**
 * The state that a controller keeps between reconciles. A missing entry, as after a restart, costs at most one request.
 */
import { canonical, type Difference } from "./Drift.ts"
import * as ForeignWriters from "./ForeignWriters.ts"
import * as HotLoop from "./HotLoop.ts"

/** The entries about one object at one moment, and the fields that the server drops. It shares the parts of the memory. */
export interface Entries {
  /** The hashes of accepted differences, by slot. */
  readonly accepted: ReadonlyMap<string, bigint> | undefined
  readonly report: { readonly message: string; readonly at: number } | undefined
  readonly isClean: boolean
  readonly isBereft: boolean
  /** The hashes of the kinds and paths of dropped values. */
  readonly dropped: ReadonlySet<bigint>
  /** The optional kinds that the server did not serve. */
  readonly unserved: ReadonlySet<string>
  /** The fight over its children or its status; absent without one. */
  readonly fight?: HotLoop.Fight | undefined
}

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
  /** The optional kinds that the server does not serve, such as `httproutes.gateway.networking.k8s.io`. */
  readonly unserved: () => ReadonlySet<string>
  /** Keeps whether the server serves an optional kind. Returns the objects that waited for the kind, if it does. */
  readonly serve: (kind: string, isServed: boolean) => ReadonlyArray<string>
  /** Keeps that another controller applied this child of the owner. */
  readonly addForeign: (owner: string, child: string) => void
  /** This controller has applied the child since. */
  readonly removeForeign: (owner: string, child: string) => void
  /** Whether another controller applied this child of the owner, by their UIDs. */
  readonly isForeign: (owner: string, child: string) => boolean
  /** The UIDs of deleted objects whose clean-up has finished. */
  readonly clean: Set<string>
  /** The UIDs of objects that lost the finalizers of the controller in their deletion, until the event of the deletion. */
  readonly released: Set<string>
  /** The UIDs of objects that the API server no longer has, even if the cache still has them. */
  readonly gone: Set<string>
  /** The UIDs of cached objects that lost a child: they may be deleted themselves, and the cache does not have that yet. */
  readonly bereft: Set<string>
  /** The UIDs of paused objects. */
  readonly paused: Set<string>
  /** The latest report of this controller on each object, by UID: its message, and its time in milliseconds of the Clock. */
  readonly reports: Map<string, { readonly message: string; readonly at: number }>
  /** The entries about an object now. Later changes of the memory do not change them. */
  readonly entriesOf: (uid: string, now: number) => Entries
  /** The other field managers of children. */
  readonly foreignWriters: ForeignWriters.ForeignWriters
  /** The writes that may be part of a hot loop. */
  readonly hotLoop: HotLoop.HotLoop
  /** Removes the entries of a deleted object. */
  readonly forget: (uid: string, key: string) => void
}

/**
 * An empty memory, with the writes of earlier terms.
 *
 * @param kept the entries of an earlier memory about the object with this UID
 */
export const make = (
  hotLoop: HotLoop.HotLoop = HotLoop.make(),
  kept?: { readonly uid: string; readonly entries: Entries }
): Memory => {
  // Hashes, so that a refused value of a megabyte is not kept. A change replaces the map of an object, which `entriesOf` shares.
  const answers = new Map<string, ReadonlyMap<string, bigint>>()
  const blocked = new Map<string, Set<string>>()
  /** The names that each object waits for. */
  const places = new Map<string, Set<string>>()
  /** The UIDs of the children of other controllers, by that of their owner. */
  const foreign = new Map<string, Set<string>>()
  const clean = new Set<string>()
  const released = new Set<string>()
  const gone = new Set<string>()
  const bereft = new Set<string>()
  const paused = new Set<string>()
  const reports: Memory["reports"] = new Map()
  const seenLines = new Set<bigint>()
  /** A change replaces the set, which `entriesOf` shares. Changes are few: each is a fact about a kind. */
  let dropped: ReadonlySet<bigint> = kept?.entries.dropped ?? new Set()
  let unserved: ReadonlySet<string> = kept?.entries.unserved ?? new Set()
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

  if (kept !== undefined) {
    const { accepted, isBereft, isClean, report } = kept.entries
    if (accepted !== undefined) answers.set(kept.uid, accepted)
    if (report !== undefined) reports.set(kept.uid, report)
    if (isClean) clean.add(kept.uid)
    if (isBereft) bereft.add(kept.uid)
  }

  return {
    accept: (uid, slot, differences) => {
      const before = answers.get(uid)
      if (differences.length === 0 && before?.has(slot) !== true) return
      const slots = new Map(before)
      if (differences.length === 0) slots.delete(slot)
      else slots.set(slot, hash(differences))
      answers.set(uid, slots)
    },
    accepted: (uid, slot, differences) => {
      const answer = answers.get(uid)?.get(slot)
      return answer !== undefined && answer === hash(differences)
    },
    drop: (kind, path) => {
      // A path may contain a key that users choose.
      const added = typeOf(kind, path)
      if (!dropped.has(added)) dropped = new Set(dropped.size >= 1000 ? [] : dropped).add(added)
    },
    isDropped: (kind, path) => dropped.has(typeOf(kind, path)),
    isNews: (line) => {
      // Lines name fields, so there are few. If there are too many, a repeated line does less harm than growth.
      if (seenLines.size >= 1000) seenLines.clear()
      return seenLines.size < seenLines.add(Bun.hash.wyhash(line)).size
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
    unserved: () => unserved,
    serve: (kind, isServed) => {
      const others = Array.from(unserved).filter((each) => each !== kind)
      unserved = new Set(isServed ? others : [...others, kind])
      const waiting = isServed ? Array.from(blocked.get(kind) ?? []) : []
      for (const owner of waiting) unblock(kind, owner)
      return waiting
    },
    addForeign: (owner, child) => void foreign.set(owner, (foreign.get(owner) ?? new Set()).add(child)),
    removeForeign: (owner, child) => remove(foreign, owner, child),
    isForeign: (owner, child) => foreign.get(owner)?.has(child) === true,
    clean,
    released,
    gone,
    bereft,
    paused,
    reports,
    entriesOf: (uid, now) => ({
      accepted: answers.get(uid),
      report: reports.get(uid),
      isClean: clean.has(uid),
      isBereft: bereft.has(uid),
      dropped,
      unserved,
      fight: hotLoop.fight(uid, now)
    }),
    foreignWriters: ForeignWriters.make(),
    hotLoop,
    forget: (uid, key) => {
      hotLoop.forget(uid)
      for (const entries of [answers, clean, foreign, gone, bereft, paused, reports]) entries.delete(uid)
      for (const child of places.get(key) ?? []) unblock(child, key)
    }
  }
}
