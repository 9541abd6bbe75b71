/**
 * The keys of the objects that one controller must reconcile, each at most once.
 *
 * Events call `add`, which is synchronous. A worker calls `take`, runs, calls `addAfter` to run again later, and then `done` with the
 * versions that it wrote.
 *
 * Guarantees
 * - The queue has one entry per key, and two runs of one key never overlap. All triggers that arrive during a run cause exactly one
 *   more run.
 * - Keys of a higher priority run first, and keys of one priority run in the order in which they became ready. Priorities are strict: a
 *   flood of a higher priority starves `low`. A trigger of a higher priority moves the key to the end of the new list. Any other trigger
 *   does not move it. A key whose delay ends goes to the end of its list.
 * - A delayed key keeps its earliest time. A trigger ends the delay, and one run follows.
 * - A run gets the newest ten triggers. `dropped` counts the older ones, and `droppedNews` those of them that are not echoes.
 * - A worker gets its key when its fiber runs, not inside `add`. So all events of one chunk join one run, and the key with the highest
 *   priority runs first.
 *
 * Echoes. An event is an echo for the key whose run wrote the version that the event reports. It is news for every other key.
 * - An echo does not end a back-off, which is a delay with `holdsEchoes`; its trigger joins the others. Otherwise a failing reconcile that
 *   writes its status would retry at once, again and again. News ends the back-off.
 * - If a run ends without a back-off, one more run follows for its echoes, because a reconcile may have computed the status before it
 *   wrote. The second run writes nothing, so it causes no echo.
 * - So an echo ends any other delay, but once for each object until news or the end of a delay: a reconcile that polls may write in
 *   each run.
 * - An echo changes neither the position nor the priority of a waiting key.
 *
 * An event arrives before or after the answer to its write. So `done` decides about the triggers that arrived during the run. A key
 * keeps the writes of its latest runs while it is not idle: two objects with late events would otherwise trigger each other.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Time from "../resource/Time.ts"
import * as Timer from "../resource/Timer.ts"
import type { CpuUse } from "./CpuUse.ts"
import * as Delayed from "./Delayed.ts"
import { type Entered, Entry } from "./Entry.ts"
import * as Fair from "./Fair.ts"
import * as Held from "./Held.ts"
import type { Position, Snapshot } from "./State.ts"
import * as Waiters from "./Waiters.ts"
import * as WrittenVersions from "./WrittenVersions.ts"

export type { Position, Snapshot } from "./State.ts"
export type { Version, WrittenVersions } from "./WrittenVersions.ts"

/** The priority of the initial list and of resyncs. The default is 0. */
export const low = -100

/** The options of `add`. */
export interface AddOptions {
  /** Any finite number; higher runs first. Default 0. */
  readonly priority?: number | undefined
  /** The version of an object that the trigger reports. Without one, the trigger is news to every key. */
  readonly version?: WrittenVersions.Version | undefined
}

/** The options of `addAfter`. */
export interface AddAfterOptions {
  /** Any finite number; higher runs first. Default 0: a worker that runs again passes the priority of its item. */
  readonly priority?: number | undefined
  /** Whether the delay is a back-off, which no echo ends. Default false. */
  readonly holdsEchoes?: boolean | undefined
}

/** A key for a worker, with its triggers. Times are milliseconds of the Clock. */
export interface Item<T> {
  readonly key: string
  /** The newest of the triggers (ten by default), oldest first; never empty. */
  readonly triggers: ReadonlyArray<T>
  /** The number of older triggers. */
  readonly dropped: number
  /** The number of older triggers that were not echoes. */
  readonly droppedNews: number
  readonly priority: number
  /** When the key became ready. Since then it waits for a worker. */
  readonly enqueuedAt: number
  /** When the first of the triggers arrived; before `enqueuedAt` if the key was delayed. */
  readonly addedAt: number
}

/** The most triggers of one run that `done` decides about. Further ones count as news. */
const mostUndecided = 1000

/** The queue of one controller. All members except `take` and `drained` are synchronous and cheap. */
export interface WorkQueue<T> {
  /** Adds a key to run as soon as a worker is free. */
  readonly add: (key: string, trigger: T, options?: AddOptions) => void
  /**
   * Adds a key to run after `delayMillis`, rounded up to whole milliseconds. 0 or less is the same as `add`, and Infinity means the
   * next trigger. A key that is ready, because a trigger arrived during its run, stays ready.
   */
  readonly addAfter: (key: string, delayMillis: number, trigger: T, options?: AddAfterOptions) => void
  /**
   * Returns the next key, or none after `shutDown`. Workers get keys in the order in which they called `take`. The key is *processing*
   * until `done` or `putBack`.
   *
   * The wait can be interrupted even in an uninterruptible region, and an interrupted fiber gets no key. So
   * `Effect.uninterruptibleMask((restore) => take, then restore(run), then done)` never loses a key.
   */
  readonly take: Effect.Effect<Option.Option<Item<T>>>
  /**
   * Ends the run. Call it after `addAfter`. Ignores a key that is not processing.
   *
   * @param own the versions that the run wrote; their events do not end a back-off of this key
   */
  readonly done: (key: string, own?: WrittenVersions.WrittenVersions) => void
  /** Takes back a key whose run did not start, instead of `done`. The key becomes the first of its priority. */
  readonly putBack: (item: Item<T>) => void
  /** Drops all waiting keys and ignores later ones. Every waiting `take` returns none. Runs in progress continue until `done`. */
  readonly shutDown: () => void
  /** Waits until the queue is shut down and no run is in progress. */
  readonly drained: Effect.Effect<void>
  /** The queue in numbers. O(ready), for a scrape. */
  readonly snapshot: () => Snapshot
  /** The state of a key. O(ready), for `why`. */
  readonly position: (key: string) => Position
  /** The runs in progress of a namespace, if they keep its keys behind ready ones of others. O(ready), for `why`. */
  readonly heldBefore: (namespace: string) => number | undefined
  /** The triggers of the next run of a key, oldest first, and the number of older ones. */
  readonly pending: (key: string) => { readonly triggers: ReadonlyArray<T>; readonly dropped: number }
}

/**
 * A queue that the Scope shuts down. It uses the current Clock, and forks one fiber, which sleeps until the next delayed key is due.
 */
export const make = <T>(options?: {
  /** The number of triggers that the queue keeps for each key, the newest ones. Default 10. */
  readonly triggers?: number | undefined
  /** Called at the shutdown for each ready key of priority 0 or more, with the newest of its triggers. */
  readonly left?: ((key: string, trigger: T) => void) | undefined
  /** The CPU use of namespaces: keys of a namespace over its share run after all others. See `Fair`. */
  readonly use?: CpuUse | undefined
  /** The number of workers: with `use`, keys of a namespace that holds half of them run after all others. */
  readonly workers?: number | undefined
}): Effect.Effect<WorkQueue<T>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const clock = yield* Clock.Clock
    const keep = Math.max(1, options?.triggers ?? 10)
    const entries = new Map<string, Entry<T>>()
    const running = new Set<Entry<T>>()
    const held = Held.make(running, options?.workers)
    const ready = Fair.make<T>(options?.use, held, () => Time.monotonic(clock))
    const delayed = Delayed.make<T>()
    /** Ready keys with no run in progress. */
    let available = 0
    let [adds, retries, stopped] = [0, 0, false]
    const drained = yield* Latch.make(false)

    /** A due time in milliseconds of the Clock. */
    const shown = (dueAt: number): number => Math.round(clock.currentTimeMillisUnsafe() + dueAt - Time.monotonic(clock))

    const timer = yield* Timer.make(clock, () => {
      const now = Time.monotonic(clock)
      let entry = delayed.first()
      for (; entry !== undefined && entry.dueAt <= now; entry = delayed.first()) {
        delayed.remove(entry)
        entry.echoed = undefined
        makeReady(entry, shown(entry.dueAt))
      }
      return entry?.dueAt ?? Number.POSITIVE_INFINITY
    })

    const waiters: Waiters.Waiters<Option.Option<Item<T>>> = Waiters.make(
      () => (stopped ? Number.POSITIVE_INFINITY : available),
      () => {
        const item = handOut()
        return item !== undefined ? Option.some(item) : stopped ? Option.none() : undefined
      }
    )

    const drop = (entry: Entry<T>, entered: Entered<T>): void => {
      entered.isDropped = true
      entry.dropped++
      if (entered.isNews) entry.droppedNews++
    }

    const join = (entry: Entry<T>, entered: Entered<T>): void => {
      entry.triggers ??= []
      entry.triggers.push(entered)
      const oldest = entry.triggers.length > keep ? entry.triggers.shift() : undefined
      if (oldest !== undefined) drop(entry, oldest)
    }

    const makeAvailable = (): void => {
      available++
      waiters.signal()
    }

    const makeReady = (entry: Entry<T>, since: number): void => {
      entry.place = "ready"
      entry.enqueuedAt = since
      ready.append(entry)
      adds++
      if (!entry.running) makeAvailable()
    }

    const raise = (entry: Entry<T>, priority: number): void => {
      if (priority <= entry.priority) return
      if (entry.place === "ready") {
        ready.remove(entry)
        entry.priority = priority
        ready.append(entry)
      } else entry.priority = priority
    }

    /** Adds the trigger to the key's entry. The caller must put an idle entry into a list. */
    const enter = (key: string, entered: Entered<T>): Entry<T> => {
      let entry = entries.get(key)
      if (entry === undefined) {
        entry = new Entry<T>(key)
        entries.set(key, entry)
      }
      if (entry.place === "idle") {
        entry.priority = entered.priority
        entry.addedAt = clock.currentTimeMillisUnsafe()
      }
      join(entry, entered)
      return entry
    }

    /** Ends a delay other than back-off, for the first echo of an object since the last news. */
    const echo = (entry: Entry<T>, uid: string): void => {
      if (entry.place === "idle" || entry.place === "undecided" || entry.echoed?.has(uid) === true) return
      entry.echoed ??= new Set()
      entry.echoed.add(uid)
      if (entry.place !== "delayed" || entry.holdsEchoes) return
      delayed.remove(entry)
      makeReady(entry, clock.currentTimeMillisUnsafe())
    }

    /** Makes the entry ready, with the higher of its own priority and this one. */
    const promote = (entry: Entry<T>, priority: number): void => {
      entry.echoed = undefined
      raise(entry, priority)
      if (entry.place === "ready") return
      if (entry.place === "delayed") delayed.remove(entry)
      makeReady(entry, clock.currentTimeMillisUnsafe())
    }

    const add = (key: string, trigger: T, options?: AddOptions): void => {
      if (stopped) return
      const priority = options?.priority ?? 0
      const entered: Entered<T> = { trigger, priority, version: options?.version, isNews: true, isDropped: false }
      const known = entered.version === undefined ? undefined : entries.get(key)
      if (known !== undefined && entered.version !== undefined) {
        if (WrittenVersions.has(known.own, entered.version)) entered.isNews = false
        if (known.running && (known.undecided?.length ?? 0) < mostUndecided) {
          enter(key, entered)
          if (known.place === "idle") known.place = "undecided"
          if (known.undecided === undefined) known.undecided = [entered]
          else known.undecided.push(entered)
          return
        }
      }
      const entry = enter(key, entered)
      if (entered.isNews) promote(entry, priority)
      else if (entry.place === "idle") entry.place = "undecided"
      else echo(entry, options?.version?.uid ?? "")
    }

    /** Compares the triggers that arrived during the run with the writes of the run, and makes the key ready for news. */
    const decide = (entry: Entry<T>): void => {
      const { undecided = [] } = entry
      entry.undecided = undefined
      for (const entered of undecided) {
        if (entered.version !== undefined && WrittenVersions.has(entry.own, entered.version)) {
          if (entered.isDropped && entered.isNews) entry.droppedNews--
          entered.isNews = false
          echo(entry, entered.version.uid ?? "")
        } else promote(entry, entered.priority)
      }
    }

    const addAfter = (key: string, delayMillis: number, trigger: T, options?: AddAfterOptions): void => {
      if (!(delayMillis > 0)) {
        add(key, trigger, options)
        return
      }
      if (stopped) return
      // An infinite delay means that the key waits for a trigger.
      if (delayMillis < Number.POSITIVE_INFINITY) retries++
      const priority = options?.priority ?? 0
      const holdsEchoes = options?.holdsEchoes ?? false
      const entry = enter(key, { trigger, priority, version: undefined, isNews: true, isDropped: false })
      // `done` decides whether echoes of the run end the delay.
      if (entry.place === "undecided") entry.priority = priority
      raise(entry, priority)
      if (entry.place === "ready") return
      entry.holdsEchoes = holdsEchoes || (entry.place === "delayed" && entry.holdsEchoes)
      const dueAt = Time.monotonic(clock) + Math.ceil(delayMillis)
      if (entry.place !== "delayed") {
        entry.place = "delayed"
        entry.dueAt = dueAt
        delayed.add(entry)
      } else if (dueAt < entry.dueAt) delayed.advance(entry, dueAt)
      timer.set(dueAt)
    }

    const handOut = (): Item<T> | undefined => {
      const entry = ready.next()
      if (entry === undefined) return undefined
      ready.remove(entry)
      available--
      entry.handedOut = entry.triggers ?? []
      const item: Item<T> = {
        key: entry.key,
        triggers: entry.handedOut.map(({ trigger }) => trigger),
        dropped: entry.dropped,
        droppedNews: entry.droppedNews,
        priority: entry.priority,
        enqueuedAt: entry.enqueuedAt,
        addedAt: entry.addedAt
      }
      entry.place = "idle"
      entry.triggers = undefined
      entry.dropped = 0
      entry.droppedNews = 0
      entry.running = true
      entry.startedAt = clock.currentTimeMillisUnsafe()
      running.add(entry)
      return item
    }

    /** Ends the run in progress, if there is one. */
    const endRun = (key: string): Entry<T> | undefined => {
      const entry = entries.get(key)
      if (entry?.running !== true) return undefined
      entry.running = false
      running.delete(entry)
      if (stopped && running.size === 0) drained.openUnsafe()
      return entry
    }

    const done = (key: string, own?: WrittenVersions.WrittenVersions): void => {
      const entry = entries.get(key)
      if (entry?.running !== true) return
      if (entry.place !== "idle") {
        if (own !== undefined && own.size > 0) entry.own = WrittenVersions.after(entry.own, own, Time.monotonic(clock))
        decide(entry)
        if (entry.place === "undecided") makeReady(entry, clock.currentTimeMillisUnsafe())
      }
      endRun(key)
      if (entry.place === "idle") entries.delete(key)
      else if (entry.place === "ready") makeAvailable()
    }

    const putBack = (item: Item<T>): void => {
      const entry = endRun(item.key)
      if (entry === undefined) return
      if (stopped) {
        entries.delete(item.key)
        return
      }
      if (entry.place === "ready") ready.remove(entry)
      if (entry.place === "delayed") delayed.remove(entry)
      entry.undecided = undefined
      entry.priority = entry.place === "idle" ? item.priority : Math.max(item.priority, entry.priority)
      const triggers = [...entry.handedOut, ...(entry.triggers ?? [])]
      entry.triggers = triggers.slice(-keep)
      entry.dropped += item.dropped
      entry.droppedNews += item.droppedNews
      for (const oldest of triggers.slice(0, -keep)) drop(entry, oldest)
      entry.addedAt = item.addedAt
      entry.enqueuedAt = item.enqueuedAt
      entry.place = "ready"
      ready.prepend(entry)
      makeAvailable()
    }

    const shutDown = (): void => {
      stopped = true
      const empty = (entry: Entry<T>): void => {
        const newest = entry.place === "ready" && entry.priority >= 0 ? entry.triggers?.at(-1) : undefined
        if (newest !== undefined) options?.left?.(entry.key, newest.trigger)
        entry.place = "idle"
        entry.triggers = undefined
        entry.undecided = undefined
        if (!entry.running) entries.delete(entry.key)
      }
      ready.drain(empty)
      delayed.drain(empty)
      for (const entry of running) empty(entry)
      if (running.size === 0) drained.openUnsafe()
      available = 0
      waiters.signal()
    }

    const snapshot = (): Snapshot => {
      const now = clock.currentTimeMillisUnsafe()
      let longestRunMillis = 0
      let unfinishedMillis = 0
      for (const entry of running) {
        longestRunMillis = Math.max(longestRunMillis, now - entry.startedAt)
        unfinishedMillis += now - entry.startedAt
      }
      return {
        ready: ready.size(),
        delayed: delayed.size(),
        processing: running.size,
        depth: ready.depth(),
        adds,
        retries,
        oldestMillis: now - (ready.oldest() ?? now),
        longestRunMillis,
        unfinishedMillis
      }
    }

    const position = (key: string): Position => {
      const entry = entries.get(key)
      if (entry === undefined) return { _tag: "Absent" }
      if (entry.running) {
        const until = entry.place === "delayed" ? shown(entry.dueAt) : undefined
        return { _tag: "Processing", since: entry.startedAt, again: entry.place !== "idle", until }
      }
      if (entry.place === "delayed") return { _tag: "Delayed", until: shown(entry.dueAt), priority: entry.priority }
      return { _tag: "Ready", index: ready.indexOf(entry), priority: entry.priority, since: entry.enqueuedAt }
    }

    const pending: WorkQueue<T>["pending"] = (key) => {
      const { triggers = [], dropped = 0 } = entries.get(key) ?? {}
      return { triggers: triggers.map(({ trigger }) => trigger), dropped }
    }

    yield* Effect.addFinalizer(() => Effect.sync(shutDown))
    return {
      add,
      addAfter,
      take: Effect.uninterruptible(waiters.take),
      done,
      putBack,
      shutDown,
      drained: drained.await,
      snapshot,
      position,
      heldBefore: (namespace) => {
        let isBehind = false
        ready.each(({ key, running }) => {
          if (!running && Held.namespaceOf(key) !== namespace) isBehind = true
        })
        return isBehind ? held.crowds().get(namespace) : undefined
      },
      pending
    }
  })
