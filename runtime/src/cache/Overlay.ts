/**
 * Read-your-writes: answers to our own writes, on top of the state that the watch has delivered.
 *
 * The truth is the watch. A response is shown in its place only while it is known to be ahead of the watch, that is while
 * its resourceVersion is greater than every one the watch has reached; that comparison also decides the case in which the
 * event came first, which is more than half of all. A resourceVersion that is not a number is never laid: it could be
 * behind, and would then hide the present. A deletion is remembered by UID, which is never used twice, so it can neither
 * hide a new object of the same name nor be undone by a late event. What it does not cover: who deletes by name an object
 * that the watch has not shown yet still sees the one that had the name before, until the watch has told of its end.
 *
 * Each watch has its own overlay: "passed" is a statement about one stream of events.
 */
import * as Bounded from "../resource/Bounded.ts"
import type { KubernetesObject } from "../resource/KubernetesObject.ts"
import * as ResourceVersion from "./ResourceVersion.ts"
import type { Table } from "./Store.ts"

/** What one watch says and what own writes say, merged into a {@link Table}. */
export interface Overlay {
  /** What the watch last said about `key`. */
  readonly base: (key: string) => KubernetesObject | undefined
  /** The keys of which the watch says that there is an object. Valid until the next change. */
  readonly keys: () => Iterable<string>
  /** The watch says that `key` now is `object`, or is gone. */
  readonly watched: (key: string, object: KubernetesObject | undefined) => void
  /** The watch has told everything up to `resourceVersion`: what own writes said before that ends. */
  readonly passed: (resourceVersion: string) => void
  /** A list is about to be asked for. It will cover every write that has been answered by now. */
  readonly relisting: () => void
  /** That list is complete, as of `resourceVersion`; its objects are told through `watched` next. */
  readonly relisted: (resourceVersion: string) => void
  /**
   * A write was answered: `key` is `object`, or, if `object` is absent, not in this cache any more (it left the selector).
   * Nothing happens if the watch is past that already.
   */
  readonly lay: (key: string, resourceVersion: string, object: KubernetesObject | undefined) => void
  /**
   * A deletion was answered: the object with `uid` is gone. `resourceVersion` is that of the last state, if the answer had
   * it: should the watch show the object at a later one, it lives after all.
   */
  readonly bury: (key: string, uid: string, resourceVersion: string | undefined) => void
  /** How many keys show something else than the watch said. Goes back to zero when the watch has caught up. */
  readonly size: () => number
}

interface Laid {
  readonly object: KubernetesObject | undefined
  readonly order: number
  readonly sequence: number
}

/** A key that shows something else than its `base`. */
interface Cover {
  base: KubernetesObject | undefined
  laid: Laid | undefined
  /** The object in `base` was deleted by us; the watch has not said so yet. */
  buried: boolean
}

/** An own write that covers a key until the watch has passed it. */
interface Expected {
  readonly key: string
  readonly order: number
  readonly sequence: number
}

interface Death {
  readonly order: number | undefined
  readonly sequence: number
}

/** How many deleted UIDs the overlay keeps for late events and responses, which come within seconds. */
const deaths = 8192

/**
 * Keys covered at once. Reached only when a watch has been down for long while writes went on. Then the oldest show what the watch
 * said last: so many at a time that it costs nearly nothing per write.
 */
const covers = 8192
const givenUp = 1024

/** An overlay that shows itself in `table`, for the part of it that lies in `namespace` (default: all of it). */
export const make = (table: Table, namespace?: string): Overlay => {
  const covered = new Map<string, Cover>()
  const dead = new Map<string, Death>()
  /**
   * What the watch will pass, in that order, from `passing` on: so that an event costs as much as it ends, and not as much as is
   * laid (4,000 laid and ended one by one: 10 ms instead of 200). What was laid over since then is still in it.
   */
  let expected: Array<Expected> = []
  let passing = 0
  let position: number | undefined
  let sequence = 0
  let listing = 0

  const base = (key: string): KubernetesObject | undefined => {
    const cover = covered.size === 0 ? undefined : covered.get(key)
    return cover === undefined ? table.get(key) : cover.base
  }

  const show = (key: string, object: KubernetesObject | undefined): void => {
    if (object === undefined) table.delete(key)
    else table.set(key, object)
  }

  const refresh = (key: string, cover: Cover): void => {
    if (cover.laid !== undefined) show(key, cover.laid.object)
    else if (cover.buried) show(key, undefined)
    else {
      covered.delete(key)
      show(key, cover.base)
    }
  }

  const isDead = (object: KubernetesObject): boolean => {
    const { uid, resourceVersion } = object.metadata
    const death = dead.get(uid)
    if (death === undefined) return false
    if (!ResourceVersion.isLater(ResourceVersion.order(resourceVersion), death.order)) return true
    dead.delete(uid)
    return false
  }

  const cover = (key: string): Cover => {
    let found = covered.get(key)
    if (found === undefined) {
      found = { base: table.get(key), laid: undefined, buried: false }
      covered.set(key, found)
    }
    return found
  }

  const unlay = (key: string, each: Cover): void => {
    each.laid = undefined
    refresh(key, each)
  }

  /** Gives up the oldest covers when there are too many. */
  const bound = (): void => {
    if (covered.size <= covers) return
    for (const [key, each] of covered) {
      each.buried = false
      unlay(key, each)
      if (covered.size <= covers - givenUp) return
    }
  }

  const expect = (entry: Expected): void => {
    if (expected.length >= 2 * covers) {
      expected = expected.filter(({ key, sequence }) => covered.get(key)?.laid?.sequence === sequence)
      passing = 0
    }
    // Answers come nearly in the order of their writes: the place is at the end, or close to it.
    let at = expected.length
    for (let before = expected[at - 1]; before !== undefined && before.order > entry.order; before = expected[at - 1])
      at--
    expected.splice(Math.max(at, passing), 0, entry)
  }

  /** Ends what was laid up to here. */
  const pass = (reached: number): void => {
    position = reached
    for (let next = expected[passing]; next !== undefined && next.order <= reached; next = expected[++passing]) {
      const each = covered.get(next.key)
      if (each?.laid?.sequence === next.sequence) unlay(next.key, each)
    }
    if (passing === expected.length && passing > 0) {
      expected = []
      passing = 0
    }
  }

  return {
    base,
    keys: function* () {
      for (const key of table.keys(namespace)) if (!covered.has(key)) yield key
      for (const [key, each] of covered) if (each.base !== undefined) yield key
    },
    watched: (key, object) => {
      const dying = object !== undefined && dead.size > 0 && isDead(object)
      const existing = covered.size === 0 ? undefined : covered.get(key)
      if (existing === undefined && !dying) {
        show(key, object)
        return
      }
      const target = existing ?? cover(key)
      target.base = object
      target.buried = dying
      refresh(key, target)
    },
    passed: (resourceVersion) => {
      const reached = ResourceVersion.order(resourceVersion)
      if (reached !== undefined) pass(reached)
    },
    relisting: () => {
      listing = sequence
    },
    relisted: (resourceVersion) => {
      position = ResourceVersion.order(resourceVersion)
      // What was answered before the list was asked for is in it, whatever the numbers say: a server restored from a backup
      // counts from an earlier one, and may have a deleted object again.
      for (const [uid, death] of dead) if (death.sequence <= listing) dead.delete(uid)
      for (const [key, each] of covered) {
        const { laid } = each
        if (laid === undefined) continue
        if (laid.sequence <= listing || (position !== undefined && laid.order <= position)) unlay(key, each)
      }
      if (position !== undefined) pass(position)
    },
    lay: (key, resourceVersion, object) => {
      const order = ResourceVersion.order(resourceVersion)
      if (order === undefined || (position !== undefined && order <= position)) return
      // Before a first list there is no position; what the table holds may be newer even so.
      const current = covered.get(key)?.laid?.order ?? ResourceVersion.order(table.get(key)?.metadata.resourceVersion)
      if (current !== undefined && current >= order) return
      const target = cover(key)
      // The late answer to a write of what we have deleted since: what the watch shows before it is older still.
      const dying = object !== undefined && dead.size > 0 && isDead(object)
      target.laid = { object: dying ? undefined : object, order, sequence: ++sequence }
      expect({ key, order, sequence })
      refresh(key, target)
      bound()
    },
    bury: (key, uid, resourceVersion) => {
      const order = ResourceVersion.order(resourceVersion)
      const known = base(key)
      const shown = known?.metadata.uid === uid ? known : undefined
      if (shown !== undefined && ResourceVersion.isLater(ResourceVersion.order(shown.metadata.resourceVersion), order))
        return
      Bounded.put(dead, uid, { order, sequence: ++sequence }, deaths)
      const existing = covered.get(key)
      if (shown === undefined && existing === undefined) return
      const target = existing ?? cover(key)
      // What is below is older still: there is nothing to see until the watch is past the write.
      if (target.laid?.object?.metadata.uid === uid) target.laid = { ...target.laid, object: undefined }
      if (shown !== undefined) target.buried = true
      refresh(key, target)
      bound()
    },
    size: () => covered.size
  }
}
