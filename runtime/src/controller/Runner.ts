/**
 * A controller in a process: its informers run for the whole process, and its workers while the process leads (a term).
 *
 * All terms share the informers, which a standby keeps synced. A standby has no queue. A term begins with an empty queue and without
 * back-offs; only the counters of hot loops outlive a term. Its first pass reconciles every object, the latest changes first: workers
 * start with those, while the others are added in turns. A term ends in one of two ways:
 *
 * - stopped: workers take no further key, reconciles in progress continue for the grace period, and the rest is interrupted;
 * - interrupted (the Lease is lost): reconciles in progress are interrupted at once.
 *
 * An interrupted reconcile has {@link cleanUp} for its finalizers. A reconcile that does not end blocks neither the shutdown nor other
 * controllers. Its own controller starts no other term before it ends, so two runs of one key never overlap.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Hash from "effect/Hash"
import * as Latch from "effect/Latch"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import * as Schedule from "effect/Schedule"
import * as Cache from "../cache/Cache.ts"
import * as Selection from "../cache/Selection.ts"
import type * as Transform from "../cache/Transform.ts"
import * as Fence from "../client/Fence.ts"
import * as Backoff from "../queue/Backoff.ts"
import * as CpuUse from "../queue/CpuUse.ts"
import * as WorkQueue from "../queue/WorkQueue.ts"
import * as CustomResource from "../resource/CustomResource.ts"
import { keyString } from "../resource/KubernetesObject.ts"
import type * as Resource from "../resource/Resource.ts"
import * as LogLevels from "../telemetry/LogLevels.ts"
import * as Metrics from "../telemetry/Metrics.ts"
import * as Attempt from "./Attempt.ts"
import type { Controller } from "./Controller.ts"
import * as ControllerMetrics from "./ControllerMetrics.ts"
import type { Departures } from "./Departures.ts"
import * as Detached from "./Detached.ts"
import type { Hold } from "./Hold.ts"
import * as HotLoop from "./HotLoop.ts"
import * as HotLoopObserver from "./HotLoopObserver.ts"
import * as Memory from "./Memory.ts"
import * as OwnWrites from "./OwnWrites.ts"
import * as PendingChanges from "./PendingChanges.ts"
import type { Reachability } from "./Reachability.ts"
import * as Settle from "./Settle.ts"
import * as Sources from "./Sources.ts"
import * as Timeouts from "./Timeouts.ts"
import type { TriggerEvent } from "./Trigger.ts"
import * as Worker from "./Worker.ts"

/** The settings of a runner. */
export interface Settings {
  /** The number of workers, in place of that of the controller. */
  readonly concurrency?: number | undefined
  /** The transforms of caches; none by default. */
  readonly transformOf?: ((resource: Resource.Any) => Transform.Transform | undefined) | undefined
  /** The controller sees only objects with these labels. */
  readonly labelSelector?: string | undefined
  /** Every object is reconciled once in this time, even without a change; 0 turns it off. Default 10 hours, as in controller-runtime. */
  readonly syncPeriod?: Duration.Input | undefined
  /** The time that reconciles in progress have when a term is stopped, before they are interrupted. Default 30 seconds. */
  readonly gracePeriod?: Duration.Input | undefined
  /** While it holds, the workers take no object. */
  readonly hold?: Hold | undefined
  /** Receives the attempts and changes of all terms. */
  readonly history?: Sources.History | undefined
  /** The CPU time of the namespaces' attempts, of all controllers of the process together. Default: of this controller. */
  readonly use?: CpuUse.CpuUse | undefined
}

/** The time that an interrupted reconcile has to end: enough for a request or two of a finalizer. */
export const cleanUp = Duration.seconds(5)

/**
 * How long a term waits for reconciles of the previous term after the log has reported them. While it waits, no process reconciles,
 * because this process holds the Lease.
 */
export const patience = Duration.seconds(30)

/** A controller in a process. */
export interface Runner {
  readonly controller: string
  /** Whether it leads without working for {@link patience}, because reconciles of its last term do not end. Only a restart helps. */
  readonly hangs: () => boolean
  readonly informers: ReadonlyArray<Cache.Informer>
  /** The number of workers. */
  readonly concurrency: number
  /** Completes when all caches of the controller are synced and its workers have started, in its first term. */
  readonly started: Effect.Effect<void>
  /** The queue of the current term. */
  readonly queue: () => Option.Option<WorkQueue.WorkQueue<TriggerEvent>>
  /** The changes on their way to the queue of the current term. */
  readonly intake: Readonly<Sources.Intake>
  /** The latest writes of its reconciles in all terms. */
  readonly writes: OwnWrites.OwnWrites
  /** The CPU time of the namespaces' attempts. */
  readonly use: CpuUse.CpuUse
  /** The last hot loop of an object, by its UID. */
  readonly lastLoop: HotLoop.HotLoop["lastLoop"]
}

/** Holds back the writes of maps on a standby. */
const behindLeader: Fence.Permit = { permits: () => false, reason: "a standby writes nothing" }

/** A runner and the operations of its manager. */
export interface Prepared<out R> extends Runner {
  readonly leaderElected: boolean
  /** Collects the changes between terms, which the next term reconciles first. Run it with leader election. */
  readonly standBy: Effect.Effect<never, never, R | Cache.Cache>
  /**
   * Runs a term until `stop`, and ends when the queue is drained. Returns whether all reconciles have ended. Run one term at a time.
   *
   * Workers start when **all** caches of the controller are synced, so that a child that is not cached yet does not count as missing. A
   * cache that cannot sync blocks only this controller. The cache of an optional kind that the API server does not serve blocks none. `permit` guards the writes of reconciles.
   */
  readonly lead: (
    permit: Fence.Permit,
    stop: Effect.Effect<void>
  ) => Effect.Effect<boolean, never, R | Cache.Cache | Reachability>
}

/** Declares the informers of a controller, which starts them. */
export const prepare = <R>(
  controller: Controller<R>,
  settings: Settings = {}
): Effect.Effect<Prepared<R>, never, Cache.Cache> =>
  Effect.gen(function* () {
    const cache = yield* Cache.Cache
    const transformOf = settings.transformOf ?? (() => undefined)
    const primary = yield* cache.informer(controller.resource, {
      select: { ...controller.select, labels: Selection.both(settings.labelSelector, controller.select?.labels) },
      indexes: controller.indexes,
      transform: transformOf(controller.resource)
    })
    const informers = yield* Effect.forEach(controller.triggers, (trigger) =>
      Effect.map(
        cache.informer(trigger.resource, {
          select: trigger.select,
          indexes: trigger.indexes,
          transform: transformOf(trigger.resource),
          optional: trigger.optional
        }),
        (informer) => [trigger, informer] as const
      )
    )
    const all = [primary, ...informers.map(([, informer]) => informer)]
    const reads = cache.within(controller.name, all)
    const synced = Effect.andThen(
      primary.synced,
      Effect.forEach(informers, ([{ optional }, each]) => (optional ? each.settled : each.synced), { discard: true })
    )
    const started = yield* Latch.make(false)
    /** Open while no worker of any term runs. */
    const idle = yield* Latch.make(true)
    const concurrency = settings.concurrency ?? controller.concurrency
    const gracePeriod = Duration.fromInputUnsafe(settings.gracePeriod ?? "30 seconds")
    const syncPeriod = Duration.fromInputUnsafe(settings.syncPeriod ?? "10 hours")
    const writes = OwnWrites.make()
    const use = settings.use ?? CpuUse.make()
    const metered = yield* ControllerMetrics.make(controller.name, concurrency, writes)
    const hotLoop = HotLoop.make()
    const detect = HotLoopObserver.observer(hotLoop, {
      fieldManager: controller.fieldManager,
      writes,
      found: metered.found,
      isThere: ({ metadata }) => primary.store.get(keyString(metadata))?.metadata.uid === metadata.uid
    })
    const recent = PendingChanges.make()
    /** Open during a term, and between terms. */
    const during = yield* Latch.make(false)
    const between = yield* Latch.make(true)
    let current = Option.none<WorkQueue.WorkQueue<TriggerEvent>>()
    const intake = Sources.nothing()
    let hangs = false

    const connect = (
      part: Pick<Parameters<typeof Sources.connect>[1], "queue" | "memory" | "intake" | "gone" | "news" | "departed">
    ) =>
      Effect.provideService(
        Sources.connect(controller, { ...part, history: settings.history, use, primary, informers }),
        Cache.Cache,
        reads
      )

    const standBy = connect({ queue: recent, memory: Memory.make(hotLoop), gone: () => {}, news: true }).pipe(
      (intake) => Fence.within(intake, behindLeader),
      Effect.andThen(during.await),
      Effect.scoped,
      Effect.andThen(between.await),
      Effect.forever
    )

    /** The beginning of every term. */
    const begin = Effect.gen(function* () {
      const shared: Settle.Shared<R> = {
        controller,
        queue: yield* WorkQueue.make<TriggerEvent>({ left: recent.add, use, workers: concurrency }),
        use,
        informer: primary,
        cache: reads,
        wire: CustomResource.undecoded(controller.resource),
        backoffs: yield* Backoff.make(controller.retry),
        memory: Memory.make(hotLoop),
        timeouts: yield* Timeouts.make(yield* Clock.Clock, controller.timeout),
        trouble: new Map(),
        timers: new Map(),
        hold: settings.hold,
        departed: controller.departures === undefined ? undefined : new Map()
      }
      const { memory, queue } = shared
      yield* metered.follow(queue, shared.backoffs, primary)
      yield* Effect.acquireRelease(
        Effect.suspend(() => {
          current = Option.some(queue)
          return Effect.andThen(between.close, during.open)
        }),
        () =>
          Effect.suspend(() => {
            current = Option.none()
            return Effect.andThen(during.close, between.open)
          })
      )
      const addExisting = yield* connect({
        queue,
        memory,
        intake,
        gone: (key) => Settle.forget(shared, key),
        departed: shared.departed
      })
      // Objects that were deleted between two terms.
      hotLoop.retain(new Set(primary.store.list().map(({ metadata }) => metadata.uid)))
      const handed = new Set<string>()
      recent.handOver((key, trigger) => {
        handed.add(key)
        queue.add(key, trigger)
      })
      const existing = addExisting(handed)
      // Workers wait for all objects, so that one reconcile answers all triggers of a key, unless there are changes to reconcile first.
      yield* handed.size === 0 ? existing : Effect.forkScoped(existing)
      return shared
    })

    const work = (shared: Settle.Shared<R>) =>
      synced.pipe(
        Effect.andThen(Effect.logInfo(`Starting controller ${controller.name} (${concurrency} workers)`)),
        Effect.andThen(started.open),
        Effect.andThen(Worker.pool(shared, concurrency))
      )

    /** Waits a limited time for interrupted reconciles. */
    const settled = idle.await.pipe(Effect.interruptible, Effect.timeoutOption(cleanUp), Effect.map(Option.isSome))

    const workers = (shared: Settle.Shared<R>, metrics: Metrics.Registry) =>
      // Detached, because a reconcile may never end.
      Detached.forkScoped(
        Effect.acquireUseRelease(
          idle.close,
          () => Effect.provideService(work(shared), Metrics.Metrics, metrics),
          () => idle.open
        )
      )

    const abandon = (queue: WorkQueue.WorkQueue<TriggerEvent>, fiber: Fiber.Fiber<void>) =>
      Effect.suspend(() => {
        queue.shutDown()
        fiber.interruptUnsafe()
        return settled
      })

    const drain = (queue: WorkQueue.WorkQueue<TriggerEvent>, fiber: Fiber.Fiber<void>) =>
      Effect.gen(function* () {
        queue.shutDown()
        const inFlight = queue.snapshot().processing
        if (inFlight > 0) {
          yield* Effect.logInfo(`Controller ${controller.name} finishes ${inFlight} reconciles`)
          // Waits for the reconciles, not for the workers: a worker may wait for the API server to answer.
          const drained = yield* Effect.timeoutOption(queue.drained, gracePeriod)
          if (Option.isNone(drained)) {
            yield* Effect.logWarning(
              `Controller ${controller.name} interrupts ${queue.snapshot().processing} reconciles: the grace period is over`
            )
          }
        }
        const ended = yield* abandon(queue, fiber)
        if (!ended) {
          yield* Effect.logError(
            `Controller ${controller.name}: ${queue.snapshot().processing} reconciles did not stop after being interrupted; abandoning them`
          )
        }
        return ended
      })

    const term = (stop: Effect.Effect<void>) =>
      Effect.gen(function* () {
        const shared = yield* begin
        // Metrics of objects would become stale on a standby, beside those of the next leader.
        const fiber = yield* workers(shared, yield* Metrics.scoped)
        if (Duration.toMillis(syncPeriod) > 0) yield* resync(shared, syncPeriod)
        if (controller.departures !== undefined) yield* lookForDeparted(shared, controller.departures, synced)
        // A worker that ends by itself has a defect, and the term dies with it.
        const stopped = Effect.raceFirst(stop, Effect.andThen(Fiber.join(fiber), Effect.never))
        return yield* Effect.andThen(stopped, drain(shared.queue, fiber)).pipe(
          Effect.onInterrupt(() => abandon(shared.queue, fiber))
        )
      }).pipe(Effect.scoped)

    /** The reconciles that the end of a term interrupted come first in the next term, as do the changes that it has left. */
    const observe: Attempt.Observer = (attempt) => {
      const trigger = attempt.triggers.at(-1)
      if (attempt.outcome._tag === "Interrupted" && trigger !== undefined) recent.add(attempt.key, trigger)
      settings.history?.record(attempt)
      return metered.observe(attempt)
    }

    const hang = (is: boolean) =>
      Effect.sync(() => {
        hangs = is
      })

    const free = Effect.flatMap(settled, (isFree) =>
      isFree
        ? Effect.void
        : Effect.logError(`Controller ${controller.name} waits for reconciles of its last term, which do not end`).pipe(
            Effect.andThen(
              Effect.raceFirst(idle.await, Effect.andThen(Effect.delay(hang(true), patience), Effect.never))
            ),
            // After the loss of the Lease another process works, so a hanging reconcile does no harm.
            Effect.ensuring(hang(false))
          )
    )

    return {
      controller: controller.name,
      hangs: () => hangs,
      informers: all,
      concurrency,
      started: started.await,
      queue: () => current,
      intake,
      writes,
      use,
      lastLoop: hotLoop.lastLoop,
      leaderElected: controller.leaderElected,
      standBy,
      lead: (permit, stop) =>
        Effect.raceFirst(Effect.as(free, true), Effect.as(stop, false)).pipe(
          Effect.flatMap((isFree) => (isFree ? term(stop) : Effect.succeed(false))),
          (lead) => Fence.within(lead, permit),
          Attempt.observedBy(observe, detect),
          (lead) => LogLevels.within(lead, controller.name)
        )
    }
  })

/** The parts of a sync period. Each object has its part, so that a resync is not a burst of all objects. */
const parts = 100

/** Adds the objects that left the selection before this term. */
const lookForDeparted = <R>(
  { controller, departed, informer, queue }: Settle.Shared<R>,
  departures: Departures<R, unknown>,
  synced: Effect.Effect<void>
) =>
  Effect.gen(function* () {
    yield* synced
    const found = yield* departures.find(informer.namespaces, (key) => informer.store.get(key) !== undefined)
    const at = yield* Clock.currentTimeMillis
    for (const object of found) {
      const key = keyString(object.metadata)
      departed?.set(key, object)
      queue.add(key, { kind: "startup", at }, { priority: WorkQueue.low })
    }
  }).pipe(
    Effect.tapError((error) =>
      Effect.logWarning(
        `Controller ${controller.name} cannot look for objects that left its selection, and tries again in a minute: ${Attempt.messageOf(error)}`
      )
    ),
    Effect.retry(Schedule.spaced("1 minute")),
    Effect.forkScoped
  )

const resync = <R>({ controller, departed, informer, queue }: Settle.Shared<R>, period: Duration.Duration) =>
  Effect.gen(function* () {
    const clock = yield* Clock.Clock
    const first = yield* Random.nextIntBetween(0, parts, { halfOpen: true })
    for (let turn = first; ; turn++) {
      yield* Effect.sleep(Duration.times(period, 1 / parts))
      const at = clock.currentTimeMillisUnsafe()
      const due = [...informer.store.keys()].filter((key) => Math.abs(Hash.string(key)) % parts === turn % parts)
      const found = [...Sources.listed(controller, informer.store, at, due), ...(departed?.keys() ?? [])]
      for (const key of found) queue.add(key, { kind: "resync", at }, { priority: WorkQueue.low })
    }
  }).pipe(Effect.forkScoped)
