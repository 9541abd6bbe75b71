/**
 * One kind in the cache: its store, its listeners and its state.
 */
import * as Cause from "effect/Cause"
import type * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"

import type * as WriteBroadcaster from "../client/WriteBroadcaster.ts"
import { type KubernetesObject, keyString, parseKey } from "../resource/KubernetesObject.ts"
import * as Resource from "../resource/Resource.ts"
import * as Time from "../resource/Time.ts"
import * as Budget from "./Budget.ts"
import type * as Index from "./Index.ts"
import type { InformerState } from "./InformerState.ts"
import * as LabelSelector from "./LabelSelector.ts"
import type { ListerWatcher } from "./ListerWatcher.ts"
import * as Mirror from "./Mirror.ts"
import * as Problem from "./Problem.ts"
import type * as Reflector from "./Reflector.ts"
import * as ResourceVersion from "./ResourceVersion.ts"
import * as Sample from "./Sample.ts"
import type { Shares } from "./Shares.ts"
import * as Store from "./Store.ts"
import * as Transform from "./Transform.ts"
import * as Watcher from "./Watcher.ts"
import * as WriteEffect from "./WriteEffect.ts"

/** Receives changes in order, once per chunk, after the store has them. A listener must not block. */
export type Listener = (changes: ReadonlyArray<Store.Change>) => void

/** One kind, followed by one watch per namespace and shared by all controllers. */
export interface Informer {
  readonly resource: Resource.Any
  readonly labelSelector: string | undefined
  readonly fieldSelector: string | undefined
  /** The namespaces that are followed; none: all. */
  readonly namespaces: ReadonlyArray<string>
  /** Whether it has only a selection of the objects that the manager follows. */
  readonly isNarrowed: boolean
  /** Whether it has only a part of each object. */
  readonly isTransformed: boolean
  readonly store: Store.Store
  /**
   * Calls `listener` with every change from now on, until the returned function is called. The listener gets the stored objects at
   * once, as added and initial, unless `existing` is false. If a listener throws, the informer logs the error and keeps the
   * subscription.
   */
  readonly subscribe: (listener: Listener, options?: { readonly existing?: boolean }) => () => void
  /** Waits until the first list is complete and the listeners have received it. Has no timeout: `state` has the problem. */
  readonly synced: Effect.Effect<void>
  /** The same, or until the server answers that it does not serve the kind, which is optional for some user of the informer. */
  readonly settled: Effect.Effect<void>
  /** Whether every user of the informer can work without the kind. */
  readonly isOptional: () => boolean
  /** Whether the kind is optional for some user, and the server does not serve it: the informer has no objects. */
  readonly isAbsent: () => boolean
  /** Calls `listener` when {@link isAbsent} changes, until the returned function is called. A listener must not block. */
  readonly onServed: (listener: (isServed: boolean) => void) => () => void
  /** Calls `listener` when a watch has ended, until the returned function is called. A listener must not block. */
  readonly onRestart: (listener: () => void) => () => void
  readonly state: () => InformerState
}

/** An informer, and the operations of the cache that owns it. */
export interface Handle {
  readonly informer: Informer
  /** Watches the server until interrupted. Run it once. */
  readonly run: Effect.Effect<void>
  /** Takes the answer to an own write. */
  readonly written: (write: WriteBroadcaster.Write) => void
  readonly addIndex: (definition: Index.Definition) => void
  /** The keys of objects of which the store has name and version, because the cache was full, and which fit again. */
  readonly fitting: () => Iterable<string>
  /** Stores such an object, unless the watch has delivered another version. */
  readonly restore: (object: KubernetesObject) => void
  /** Adds a user, who can work without the kind if it is optional. */
  readonly declare: (optional: boolean) => void
}

/** Waits until an informer has synced, or the server does not serve the kind, which is optional for all users. */
export const ready = ({ informer }: Pick<Handle, "informer">): Effect.Effect<void> =>
  informer.isOptional() ? informer.settled : informer.synced

/** The settings of an informer. */
export interface Options {
  readonly resource: Resource.Any
  readonly labelSelector?: string | undefined
  readonly fieldSelector?: string | undefined
  readonly indexes?: ReadonlyArray<Index.Definition> | undefined
  /** Each has its own watch; `undefined` stands for all namespaces. */
  readonly namespaces: ReadonlyArray<string | undefined>
  /** Whether it has only a selection of the objects that the manager follows. Default false. */
  readonly isNarrowed?: boolean | undefined
  readonly source: (namespace: string | undefined) => ListerWatcher
  /** Whether the first user can work without the kind. Default false. */
  readonly optional?: boolean | undefined
  /** The parts of each object that are kept; all of them by default. */
  readonly transform?: Pick<Transform.Transform, "apply" | "maxBytes"> | undefined
  readonly clock: Clock.Clock
  /** The memory of the cache; without a limit by default. */
  readonly shares?: Shares | undefined
  /** Receives the counts of the state, for metrics over all informers of a kind. */
  readonly counted?: Watcher.Sink["counted"] | undefined
}

/** The copy of one namespace, and the state of its reflector. */
interface Feed {
  readonly mirror: Mirror.Mirror
  state: Reflector.State | undefined
  reported: string | undefined
  /** When the server last sent anything, in monotonic ms. */
  heardAt: number
  /** When `state` was set, in monotonic ms. */
  movedAt: number
}

const isSameVersion = ({ metadata: a }: KubernetesObject, { metadata: b }: KubernetesObject): boolean =>
  a.name === b.name && a.namespace === b.namespace && a.uid === b.uid && a.resourceVersion === b.resourceVersion

/** How long a watch that broke again and again must hold, in milliseconds, before its informer counts as synced again. */
const unbrokenMillis = 10_000

/** Completes a Deferred. The waiting fibers yield first, so that they do not run between an event and its effects. */
const complete = (deferred: Deferred.Deferred<void>): boolean => Deferred.doneUnsafe(deferred, Effect.yieldNow)

/** An informer that is not running yet. */
export const make = (options: Options): Handle => {
  const { clock, fieldSelector, labelSelector, resource, shares } = options
  const kind: WriteEffect.CachedKind = {
    resource,
    matches: fieldSelector === undefined ? LabelSelector.parse(labelSelector) : undefined
  }
  const listeners = new Set<Listener>()
  const defects: Array<unknown> = []
  const done = Deferred.makeUnsafe<void>()
  const settled = Deferred.makeUnsafe<void>()
  const servedListeners = new Set<(isServed: boolean) => void>()
  const restartListeners = new Set<() => void>()
  let isForSome = options.optional === true
  let isForAll = isForSome
  let wasAbsent = false
  const reasons: { [reason in Reflector.Reason]?: number } = {}
  let restarts = 0
  let relists = 0
  let lastEventAt: number | undefined
  /** Whether the informer has reported that the transform failed. */
  let isTransformReported = false

  /** Gives the listeners other forms of stored objects. */
  const exchange = (objects: ReadonlyArray<KubernetesObject>): void => {
    const changes = objects.flatMap((object) => {
      const key = keyString(object.metadata)
      return mirrorOf(key)?.exchange(key, object) ?? []
    })
    budget.changed(changes)
    if (changes.length > 0) for (const listener of listeners) notify(listener, changes)
  }

  const budget = Budget.make(
    resource,
    Math.min(Budget.mostBytes, options.transform?.maxBytes ?? Budget.mostBytes),
    shares && { shares, exchange, table: () => table }
  )
  const table = Store.make(options.indexes, budget.replaced)

  const feeds: ReadonlyArray<Feed> = options.namespaces.map((namespace) => ({
    mirror: Mirror.make({ table, namespace, clock }),
    state: undefined,
    reported: undefined,
    heardAt: Time.monotonic(clock),
    movedAt: Time.monotonic(clock)
  }))
  const sample = Sample.make()

  const transformed = (object: KubernetesObject): KubernetesObject => {
    try {
      const kept = options.transform?.apply(object) ?? object
      if (isSameVersion(kept, object)) return kept
      throw new Error("a transform must keep name, namespace, uid and resourceVersion")
    } catch (defect) {
      if (!isTransformReported) defects.push(defect)
      isTransformReported = true
      return object
    }
  }

  const keep = (sent: KubernetesObject, length?: number): KubernetesObject => {
    // A server that cannot send metadata alone sends the whole object.
    const isWhole = resource.projection === "metadata" && sent.kind !== Transform.partial
    const object = isWhole ? WriteEffect.project(sent) : sent
    return budget.keep(object, transformed(object), length)
  }

  const notify = (listener: Listener, changes: ReadonlyArray<Store.Change>): void => {
    try {
      listener(changes)
    } catch (defect) {
      // The error of one listener must not end the watch of the others.
      defects.push(defect)
    }
  }

  const isSynced = (): boolean => feeds.every(({ mirror }) => mirror.synced())

  const isFeedAbsent = ({ state }: Feed): boolean => state?.isAbsent === true

  const isAbsent = (): boolean =>
    feeds.some(isFeedAbsent) && feeds.every((feed) => isFeedAbsent(feed) || feed.mirror.synced())

  /** Reports a kind that the server serves no longer, or again, after the listeners have its changes. */
  const tellServed = (): void => {
    const now = isAbsent()
    if (now) complete(settled)
    if (now === wasAbsent || (!now && !isSynced())) return
    wasAbsent = now
    for (const listener of servedListeners) {
      try {
        listener(!now)
      } catch (defect) {
        defects.push(defect)
      }
    }
  }

  /** The problem of a resumed watch is over when the watch has held for {@link unbrokenMillis}, with or without events. */
  const problemOf = ({ movedAt, state }: Feed): Problem.Problem | undefined => {
    const isOver =
      state?.problem?.isInStream === true &&
      state.phase._tag === "Watching" &&
      Time.monotonic(clock) - movedAt >= unbrokenMillis
    // The absence of an optional kind is not a problem.
    return isOver || (isForAll && state?.isAbsent === true && state.problem?.kind === "missing")
      ? undefined
      : state?.problem
  }

  const describe = (feed: Feed): string | undefined => {
    const { problem } = feed.state ?? {}
    if (problem === undefined) return undefined
    return isForAll && isFeedAbsent(feed) && problem.kind === "missing"
      ? Problem.describeAbsent(resource)
      : Problem.describe(problem, resource, feed.mirror.namespace)
  }

  /** One answer of 429 is not worth a report: the server sends it while it creates the storage of a new kind. */
  const isBrief = ({ state }: Feed): boolean => state?.problem?.kind === "throttled" && state.failures < 2

  /** The line about a problem, or about its end. Several namespaces lack an optional kind together, so one line is enough. */
  const lineOf = (feed: Feed, problem: string | undefined): Effect.Effect<void> => {
    if (problem === undefined) return Effect.logInfo(`${Resource.nameOf(resource)}: recovered`)
    if (problem !== Problem.describeAbsent(resource)) return Effect.logWarning(problem)
    return feed === feeds[0] ? Effect.logInfo(problem) : Effect.void
  }

  /** Logs a new problem, a recovery, and the errors of listeners, each once. */
  const report = (feed: Feed): Effect.Effect<void> | undefined => {
    const problem = isBrief(feed) ? undefined : describe(feed)
    const thrown = defects.splice(0)
    const warnings = budget.warnings()
    if (problem === feed.reported && thrown.length + warnings.length === 0) return undefined
    const lines: Array<Effect.Effect<void>> = thrown.map((defect) =>
      Effect.logError(
        `a listener for changes of ${Resource.nameOf(resource)}, or its transform, threw`,
        Cause.die(defect)
      )
    )
    lines.push(...warnings.map((warning) => Effect.logWarning(warning)))
    if (problem !== feed.reported) {
      lines.push(lineOf(feed, problem))
      feed.reported = problem
    }
    return Effect.all(lines, { discard: true })
  }

  const sink = (feed: Feed): Watcher.Sink => ({
    edit: (edit) => {
      if (edit._tag === "Apply" || edit._tag === "Stage") lastEventAt = clock.currentTimeMillisUnsafe()
      if (edit._tag === "Stage") for (const object of edit.objects) sample.take(object)
      if (edit._tag === "Apply") for (const event of edit.events) if ("object" in event) sample.take(event.object)
      const changes = feed.mirror.edit(edit)
      budget.changed(changes)
      if (changes.length > 0) for (const listener of listeners) notify(listener, changes)
      shares?.shed()
      if (edit._tag === "Commit" && isSynced()) for (const each of [done, settled]) complete(each)
    },
    counted: (what, reason) => {
      if (what === "Restarted") restarts++
      else relists++
      reasons[reason] = (reasons[reason] ?? 0) + 1
      options.counted?.(what, reason)
      for (const listener of restartListeners) listener()
    },
    heard: () => {
      feed.heardAt = Time.monotonic(clock)
    },
    moved: (state) => {
      feed.state = state
      feed.movedAt = Time.monotonic(clock)
      if (isForSome) tellServed()
      return report(feed)
    }
  })

  const listerWatcherOf = ({ mirror: { namespace } }: Feed): ListerWatcher => {
    return Transform.through(options.source(namespace), keep)
  }

  /** Restarts a watch after a defect, which would otherwise leave a stale copy unnoticed. */
  const follow = (feed: Feed): Effect.Effect<never> =>
    Watcher.run(listerWatcherOf(feed), sink(feed), () => isForSome).pipe(
      Effect.catchDefect((defect) =>
        Effect.andThen(
          Effect.logError(`the watch of ${Resource.nameOf(resource)} failed unexpectedly, retrying in 5 s`, defect),
          Effect.sleep("5 seconds")
        )
      ),
      Effect.forever
    )

  const state = (): InformerState => {
    const absent = isForAll && isAbsent()
    const synced = absent || isSynced()
    const troubled = feeds.find((feed) => problemOf(feed) !== undefined)
    const cause = troubled?.state?.problem
    let resourceVersion: string | undefined
    for (const feed of feeds) {
      const version = feed.state?.resourceVersion
      if (
        resourceVersion === undefined ||
        ResourceVersion.isLater(ResourceVersion.order(version), ResourceVersion.order(resourceVersion))
      )
        resourceVersion = version
    }
    return {
      status:
        cause !== undefined
          ? cause.kind === "missing"
            ? "missing"
            : "failing"
          : absent
            ? "absent"
            : synced
              ? "synced"
              : "syncing",
      synced,
      problem: troubled === undefined ? undefined : describe(troubled),
      cause,
      resourceVersion,
      restarts,
      relists,
      reasons: { ...reasons },
      lastEventAt,
      overlaid: feeds.reduce((sum, { mirror }) => sum + mirror.overlay.size(), 0),
      // The API server sends no news of a kind that it does not serve.
      idleMillis: absent ? 0 : Time.monotonic(clock) - Math.min(...feeds.map(({ heardAt }) => heardAt)),
      meanSize: sample.mean(),
      tooLarge: budget.size()
    }
  }

  /** The copy that holds objects with this key. */
  const mirrorOf = (key: string): Mirror.Mirror | undefined => {
    const namespace = parseKey(key).namespace
    return feeds.find(({ mirror }) => mirror.namespace === undefined || mirror.namespace === namespace)?.mirror
  }

  const informer: Informer = {
    resource,
    labelSelector,
    fieldSelector,
    namespaces: options.namespaces.filter((namespace) => namespace !== undefined),
    isNarrowed: options.isNarrowed ?? false,
    isTransformed: options.transform !== undefined,
    store: table,
    subscribe: (listener, { existing = true } = {}) => {
      // A wrapper, so that one function can subscribe twice.
      const subscribed: Listener = (changes) => listener(changes)
      listeners.add(subscribed)
      if (existing && table.size() > 0) {
        const receivedAt = clock.currentTimeMillisUnsafe()
        notify(
          subscribed,
          table.list().map((object) => ({ type: "added", object, initial: true, relisted: false, receivedAt }))
        )
      }
      return () => {
        listeners.delete(subscribed)
      }
    },
    synced: Deferred.await(done),
    settled: Deferred.await(settled),
    isOptional: () => isForAll,
    isAbsent,
    onServed: (listener) => {
      const subscribed = (isServed: boolean): void => listener(isServed)
      servedListeners.add(subscribed)
      return () => {
        servedListeners.delete(subscribed)
      }
    },
    onRestart: (listener) => {
      const subscribed = (): void => listener()
      restartListeners.add(subscribed)
      return () => {
        restartListeners.delete(subscribed)
      }
    },
    state
  }

  return {
    informer,
    run: Effect.forEach(feeds, follow, { concurrency: "unbounded", discard: true }),
    written: (write) => {
      const effect = WriteEffect.of(write, kind)
      if (effect === undefined) return
      const overlay = mirrorOf(effect.key)?.overlay
      if (overlay === undefined) return
      switch (effect._tag) {
        case "Present":
          return overlay.written(effect.key, effect.object.metadata.resourceVersion, keep(effect.object))
        case "Outside":
          return overlay.written(effect.key, effect.resourceVersion, undefined)
        case "Removed":
          return overlay.deleted(effect.key, effect.uid, effect.resourceVersion)
      }
    },
    fitting: () => budget.fitting(table.get),
    restore: (object) => {
      const kept = keep(WriteEffect.strip(object))
      if (Transform.crowdedBytes(kept) === undefined) exchange([kept])
      shares?.shed()
    },
    addIndex: table.addIndex,
    declare: (optional) => {
      if (optional) isForSome = true
      else isForAll = false
    }
  }
}
