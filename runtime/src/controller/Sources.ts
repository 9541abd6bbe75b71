/**
 * Adds the changes of informers to the queue of a controller. The code is synchronous and runs once per chunk of a watch. Maps that are
 * Effects run one after the other on a separate fiber, on the account of the namespace of the object: see `Maps`.
 */
import * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import type * as Scope from "effect/Scope"
import type * as Cache from "../cache/Cache.ts"
import type { Change } from "../cache/Store.ts"
import * as Transform from "../cache/Transform.ts"
import { Fenced } from "../client/ApiError.ts"
import type { CpuUse } from "../queue/CpuUse.ts"
import * as WorkQueue from "../queue/WorkQueue.ts"
import { controllerOf, type KubernetesObject, keyString, parseKey } from "../resource/KubernetesObject.ts"
import * as Resource from "../resource/Resource.ts"
import * as Time from "../resource/Time.ts"
import { Tracing } from "../telemetry/Tracing.ts"
import { type Attempt, messageOf } from "./Attempt.ts"
import type { Controller } from "./Controller.ts"
import { Account, CpuAccount } from "./CpuAccount.ts"
import * as Departures from "./Departures.ts"
import * as Detached from "./Detached.ts"
import * as Maps from "./Maps.ts"
import type { Memory } from "./Memory.ts"
import * as Paused from "./Paused.ts"
import * as Predicate from "./Predicate.ts"
import * as Trigger from "./Trigger.ts"

/** The existing objects that a term adds in one turn, in well under a millisecond. */
const chunk = 200

/** The objects of an initial list wait behind new changes, as a resync does. */
const priorityOf = (change: Change): number => (change.initial ? WorkQueue.low : 0)

/** The version by which the queue recognises an own write. A later list may hide the version of another manager behind it. */
const versionOf = (change: Change, fired: Trigger.TriggerEvent): WorkQueue.Version | undefined =>
  change.initial || change.relisted ? undefined : fired.source

/** The changes on their way to the queue of a controller. A plan waits for them. */
export interface Intake {
  /** Whether changes wait for a map that is an Effect, or for its end. */
  isMapping: boolean
  /** When the last delay of a trigger ends, in milliseconds of the Clock. */
  dueAt: number
  /** The first error of a map. */
  failure: string | undefined
}

/** No changes. */
export const nothing = (): Intake => ({ isMapping: false, dueAt: 0, failure: undefined })

/** The name of the controller in its maps; undefined outside of a map that is an Effect. */
export const Mapping = Context.Reference("@homeostat/runtime/Mapping", {
  defaultValue: (): string | undefined => undefined
})

/**
 * Whether an object that is gone from the watch may live: its last state has a finalizer of the controller, or is too large for the cache.
 * The last state before a deletion has the finalizer, too, because the API server does not store its removal.
 */
const mayLive = (
  { finalizers, resource }: Pick<Controller<never>, "finalizers" | "resource">,
  last: KubernetesObject
) => Transform.isPartial(resource, last) || Departures.carries(finalizers, last)

type Ignore<A> = (
  about: A,
  kind: Trigger.TriggerEvent["kind"],
  sourceKind: string,
  change: Change,
  predicate: string
) => void

/** Receives the attempts and changes of a controller for `why`. All functions are synchronous. */
export interface History {
  /** An attempt ended. */
  readonly record: (attempt: Attempt) => void
  /** A predicate ignored a change of the reconciled object of this key. */
  readonly ignored: Ignore<string>
  /** The predicate of this trigger ignored a change of an object of another kind. */
  readonly ignoredElsewhere: Ignore<object>
  /** An object is gone. */
  readonly deleted: (key: string, uid: string, at: number) => void
}

/** The keys of cached objects that the controller would reconcile after a list: its predicate sees each as added. */
export function* listed<R>(
  { predicate }: Pick<Controller<R>, "predicate">,
  store: Cache.Informer["store"],
  at: number,
  keys: Iterable<string>
): Iterable<string> {
  for (const key of keys) if (predicate === undefined || isFound(predicate, store.get(key), at)) yield key
}

const isFound = (predicate: Predicate.Predicate, object: KubernetesObject | undefined, receivedAt: number): boolean => {
  if (object === undefined) return true
  try {
    return predicate({ type: "added", object, initial: false, relisted: false, receivedAt })
  } catch {
    return true
  }
}

/**
 * Subscribes a controller's queue to the changes of its informers, for the life of the scope.
 *
 * @param intake receives the changes on their way to the queue
 * @param gone called with the key of a reconciled object that was deleted
 * @param news without the objects of a first list: neither predicates nor maps see those
 * @returns an effect that adds the objects that exist already, in turns, except the reconciled objects with these keys
 */
export const connect = <R>(
  controller: Controller<R>,
  options: {
    readonly queue: Pick<WorkQueue.WorkQueue<Trigger.TriggerEvent>, "add" | "addAfter">
    readonly memory: Memory
    readonly intake?: Intake | undefined
    readonly history?: Omit<History, "record"> | undefined
    /** The CPU time of namespaces, to which the maps are charged. */
    readonly use?: CpuUse | undefined
    readonly primary: Cache.Informer
    readonly informers: ReadonlyArray<readonly [Trigger.Trigger<R>, Cache.Informer]>
    readonly gone: (key: string) => void
    /** Receives the objects that may have left the selection with the finalizer. */
    readonly departed?: Map<string, KubernetesObject> | undefined
    readonly news?: boolean | undefined
  }
): Effect.Effect<(except: ReadonlySet<string>) => Effect.Effect<void>, never, R | Scope.Scope> =>
  Effect.gen(function* () {
    const { history, intake = nothing(), memory, queue } = options
    const tracing = yield* Tracing
    const annotation = tracing === undefined || tracing.propagation === "off" ? undefined : tracing.annotation
    const clock = yield* Clock.Clock
    const lines: Array<Effect.Effect<void>> = []
    const now = () => Time.monotonic(clock)
    const maps = Maps.make<R>(options.use, now)
    const rounds = Maps.rounds(now)
    const account = options.use && new CpuAccount(options.use)
    const work = yield* Latch.make(false)

    const logOnce = (line: string, log: (line: string) => Effect.Effect<void>): void => {
      if (!memory.isNews(line)) return
      lines.push(log(line))
      work.openUnsafe()
    }

    const later = (namespace: string, map: Effect.Effect<void, never, R>): void => {
      intake.isMapping = true
      if (!maps.add(namespace, map)) {
        logOnce(
          `Controller ${controller.name} reconciles all objects: more than ${Maps.mostOfOne} changes wait for a map`,
          Effect.logInfo
        )
      }
      work.openUnsafe()
    }

    /** Adds objects in place of the dropped maps of a namespace. A standby skips that, because a term begins with all objects. */
    const reconcileFor = (namespace: string): void => {
      if (options.news === true) return
      const at = clock.currentTimeMillisUnsafe()
      const priority = { priority: WorkQueue.low }
      const delay = rounds.plan()
      const { store } = options.primary
      for (const key of listed(controller, store, at, store.keys(delay === undefined ? namespace : undefined))) {
        const isOwn = parseKey(key).namespace === namespace
        queue.addAfter(key, isOwn ? 0 : (delay ?? 0), { kind: "resync", at }, priority)
      }
    }

    /** A map on the account of the namespace. */
    const charged = ({ map, namespace }: NonNullable<ReturnType<typeof maps.next>>): Effect.Effect<void, never, R> =>
      account === undefined
        ? map
        : Effect.suspend(() => {
            account.begin(namespace === "" ? undefined : namespace, now())
            return Effect.ensuring(
              map,
              Effect.sync(() => account.end(now))
            )
          })

    /** Reports an error of an author's predicate or map once. It must not end the watch. */
    const reportOnce = (what: "predicate" | "map", error: unknown): void => {
      // A standby holds back all writes; the leader makes them.
      if (error instanceof Fenced) return
      if (what === "map") intake.failure ??= messageOf(error)
      logOnce(`A ${what} of controller ${controller.name} threw: ${messageOf(error)}`, Effect.logError)
    }

    /** A predicate that throws lets the change pass: an extra reconcile does no harm, a missing one may. */
    const passes = (predicate: Predicate.Predicate | undefined, change: Change): boolean => {
      try {
        return predicate?.(change) ?? true
      } catch (error) {
        reportOnce("predicate", error)
        return true
      }
    }

    /** Gives the keys of the objects that exist already. */
    const subscribe = (informer: Cache.Informer, listener: (change: Change) => void) =>
      Effect.acquireRelease(
        Effect.sync(() => {
          const unsubscribe = informer.subscribe(
            (changes) => {
              for (const change of changes) {
                if (options.news !== true || !change.initial) listener(change)
              }
            },
            { existing: false }
          )
          return { unsubscribe, keys: Array.from(informer.store.keys()) }
        }),
        ({ unsubscribe }) => Effect.sync(unsubscribe)
      )

    /** Adds the objects of these keys. Workers and timers run between two chunks. */
    const replay = (keys: ReadonlyArray<string>, { store }: Cache.Informer, listener: (change: Change) => void) => {
      const receivedAt = clock.currentTimeMillisUnsafe()
      const add = (key: string): void => {
        const object = store.get(key)
        if (object !== undefined) listener({ type: "added", object, initial: true, relisted: false, receivedAt })
      }
      const addAll = (part: ReadonlyArray<string>) =>
        Effect.andThen(
          Effect.sync(() => part.forEach(add)),
          Effect.yieldNow
        )
      return Effect.forEach(Arr.chunksOf(keys, chunk), addAll, { discard: true })
    }

    const ofPrimary = (change: Change): void => {
      const key = keyString(change.object.metadata)
      if (change.type === "deleted") {
        const isReleased = memory.released.delete(change.object.metadata.uid)
        memory.forget(change.object.metadata.uid, key)
        history?.deleted(key, change.object.metadata.uid, change.receivedAt)
        options.gone(key)
        if (options.departed !== undefined && !isReleased && mayLive(controller, change.object)) {
          options.departed.set(key, Transform.existence(change.object))
        }
      } else if (
        controller.predicate !== undefined &&
        !passes(controller.predicate, change) &&
        !Paused.isNews(change)
      ) {
        const { kind } = controller.resource
        const refusal = Predicate.refusalOf(controller.predicate, change)
        history?.ignored(key, Trigger.kindOf("watch", change), kind, change, refusal)
        return
      }
      const fired = Trigger.fired("watch", controller.resource, change, annotation)
      // A deletion ends every delay of the key, even if the key's own run sent it.
      const version = change.type === "deleted" ? undefined : versionOf(change, fired)
      queue.add(key, fired, { priority: priorityOf(change), version })
    }
    /** Notes whether the server serves an optional kind, and reconciles the objects that waited for it. */
    const follow = (kind: string, informer: Cache.Informer) =>
      Effect.acquireRelease(
        Effect.sync(() => {
          memory.serve(kind, !informer.isAbsent())
          return informer.onServed((isServed) => {
            const at = clock.currentTimeMillisUnsafe()
            for (const key of memory.serve(kind, isServed))
              queue.add(key, { kind: "served", at }, { priority: WorkQueue.low })
          })
        }),
        (forget) => Effect.sync(forget)
      )

    const { keys: owners } = yield* subscribe(options.primary, ofPrimary)
    const existing: Array<Effect.Effect<void>> = []

    for (const [trigger, informer] of options.informers) {
      if (trigger.optional) yield* follow(Resource.nameOf(trigger.resource), informer)
      const identity = Resource.identityOf(trigger.resource)
      // A term begins with every owner, so the children that exist then add no key.
      const isCovered = trigger.relation === "owned" && controller.predicate === undefined
      const listener = (change: Change): void => {
        if (change.initial && isCovered) return
        if (!passes(trigger.predicate, change)) {
          // The objects of the first list may be thousands, and the history keeps few entries.
          if (change.initial) return
          const refusal = Predicate.refusalOf(trigger.predicate, change)
          const kind = Trigger.kindOf(trigger.relation, change)
          history?.ignoredElsewhere(trigger, kind, trigger.resource.kind, change, refusal)
          return
        }
        const fired = Trigger.fired(trigger.relation, trigger.resource, change, annotation)
        const settings = { priority: priorityOf(change), version: versionOf(change, fired) }
        const add = (keys: Iterable<string>) => {
          for (const key of keys) {
            // The first pass over all objects does not wait.
            if (trigger.delayMillis > 0 && !change.initial) {
              intake.dueAt = Math.max(intake.dueAt, clock.currentTimeMillisUnsafe() + trigger.delayMillis)
              queue.addAfter(key, trigger.delayMillis, fired, settings)
            } else queue.add(key, fired, settings)
          }
        }
        const seen = new Set<string>()
        const map = (object: KubernetesObject): void => {
          const keys = trigger.map(object)
          if (!Effect.isEffect(keys)) {
            for (const key of keys) seen.add(Resource.keyStringOf(controller.resource, key))
            return
          }
          later(
            object.metadata.namespace ?? "",
            keys.pipe(
              Effect.map((found) => add(Array.from(found, (key) => Resource.keyStringOf(controller.resource, key)))),
              // A map that does not end would block all later ones.
              Effect.timeout(controller.timeout),
              Effect.catchCause((cause) => Effect.sync(() => reportOnce("map", Cause.squash(cause))))
            )
          )
        }
        try {
          map(change.object)
          if (change.type === "updated" && change.previous !== undefined) map(change.previous)
        } catch (error) {
          reportOnce("map", error)
        }
        if (trigger.relation === "owned") {
          if (change.managedFields !== undefined && options.news !== true)
            memory.foreignWriters.take(change.object, change.managedFields, controller.fieldManager)
          if (change.type === "deleted") {
            const uid = controllerOf(change.object)?.uid
            for (const key of seen) {
              if (uid !== undefined && options.primary.store.get(key)?.metadata.uid === uid) memory.bereft.add(uid)
            }
          }
          for (const owner of memory.waiting(`${identity} ${keyString(change.object.metadata)}`)) seen.add(owner)
        }
        add(seen)
      }
      const { keys } = yield* subscribe(informer, listener)
      if (!isCovered && keys.length > 0) existing.push(replay(keys, informer, listener))
    }

    yield* Effect.suspend(() => {
      for (let namespace = maps.dropped(); namespace !== undefined; namespace = maps.dropped()) reconcileFor(namespace)
      const line = lines.shift()
      if (line !== undefined) return line
      const next = maps.next()
      if (next !== undefined) return charged(next)
      intake.isMapping = false
      work.closeUnsafe()
      // The latch is opened in synchronous code, which must not run a map.
      return Effect.andThen(work.await, Effect.yieldNow)
    }).pipe(
      Effect.forever,
      Effect.provideService(Mapping, controller.name),
      Effect.provideService(Account, account),
      // Detached, because an author's map may hang. A late result goes into a queue that is shut down.
      Detached.forkScoped
    )

    return (except) => {
      const others = replay(
        owners.filter((key) => !except.has(key)),
        options.primary,
        ofPrimary
      )
      return Effect.all([others, ...existing], { discard: true })
    }
  })
