/**
 * A controller in a process: its informers for as long as the process lives, and its work while it leads.
 *
 * Informers are shared by all terms and kept warm by a standby, whose queue doesn't exist: it holds nothing back that would have
 * to be thrown away. A term begins with an empty queue and no back-offs. Only the counters of hot loops outlive a term. The informers
 * deliver every object to a new subscriber, which makes the first pass, with the latest changes first. A term ends in one of two ways:
 *
 * - stopped: no key is handed out any more, reconciles in progress go on undisturbed for the grace period, and what is left
 *   is interrupted;
 * - interrupted (leadership is lost): reconciles in progress are interrupted at once.
 *
 * Interrupted reconciles have {@link cleanUp} for their finalizers. One that still does not end holds up neither the process
 * that stops nor the other controllers, but no term of its own controller begins before: there are never two runs of one key.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Hash from "effect/Hash"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import * as Cache from "../cache/Cache.ts"
import type * as Transform from "../cache/Transform.ts"
import * as Fence from "../client/Fence.ts"
import * as Backoff from "../queue/Backoff.ts"
import * as WorkQueue from "../queue/WorkQueue.ts"
import * as CustomResource from "../resource/CustomResource.ts"
import { keyString } from "../resource/KubernetesObject.ts"
import type * as Resource from "../resource/Resource.ts"
import * as LogLevels from "../telemetry/LogLevels.ts"
import * as Metrics from "../telemetry/Metrics.ts"
import * as Attempt from "./Attempt.ts"
import type { Controller } from "./Controller.ts"
import * as HotLoop from "./HotLoop.ts"
import * as HotLoopObserver from "./HotLoopObserver.ts"
import * as Intake from "./Intake.ts"
import * as Memory from "./Memory.ts"
import * as Metered from "./Metered.ts"
import * as OwnWrites from "./OwnWrites.ts"
import type { Reachability } from "./Reachability.ts"
import * as Recent from "./Recent.ts"
import * as Timeouts from "./Timeouts.ts"
import type { Fired } from "./Trigger.ts"
import * as Worker from "./Worker.ts"

/** How a controller is run. */
export interface Settings {
  /** Workers, instead of the controller's own number. */
  readonly concurrency?: number | undefined
  /** The parts of objects that the caches of kinds keep; all of them by default. */
  readonly transformOf?: ((resource: Resource.Any) => Transform.Transform | undefined) | undefined
  /** Only objects with these labels are seen. */
  readonly labelSelector?: string | undefined
  /** Every object is reconciled once in this time, even if nothing changed; 0: never. Default 10 hours, as in controller-runtime. */
  readonly syncPeriod?: Duration.DurationInput | undefined
  /** How long reconciles in progress may go on when a term is stopped; then they are interrupted. Default 30 seconds. */
  readonly gracePeriod?: Duration.DurationInput | undefined
  /** Where the runner enters what became of its objects, in all terms. */
  readonly history?: Intake.History | undefined
}

/** How long an interrupted reconcile may take to end: enough for a request or two of a finalizer. */
export const cleanUp = Duration.seconds(5)

/**
 * How long a term may wait for reconciles of the one before, once it has said that they do not end. Clean-up had its time, and
 * who hangs for as long as a grace period will hang on: nobody in the cluster reconciles meanwhile, as the Lease is ours.
 */
export const patience = Duration.seconds(30)

/** A controller in a process. */
export interface Runner {
  readonly controller: string
  /** Whether it leads and yet does nothing, for {@link patience}: reconciles of its last term do not end. Only a new process helps. */
  readonly hangs: () => boolean
  readonly informers: ReadonlyArray<Cache.Informer>
  /** Workers. */
  readonly concurrency: number
  /** Done when every cache of the controller is synced and its workers have started, in its first term. */
  readonly started: Effect.Effect<void>
  /** The queue of the current term. */
  readonly queue: () => Option.Option<WorkQueue.WorkQueue<Fired>>
  /** The latest writes of its reconciles, of all terms. */
  readonly writes: OwnWrites.OwnWrites
}

/** What maps are subject to on a standby. */
const behindLeader: Fence.Permit = { permits: () => false, reason: "a standby writes nothing" }

/** One that can be told to work. */
export interface Prepared<out R> extends Runner {
  readonly leaderElected: boolean
  /** Remembers what changes while there is no term: the next one begins with it. To be run where terms have to be waited for. */
  readonly standBy: Effect.Effect<never, never, R | Cache.Cache>
  /**
   * A term: works until `stop`, and ends when all is drained. True if no reconcile runs any more. To be run by one at a time.
   *
   * Workers start once **all** caches are synced, because a child that is only not seen yet must not be taken for missing. A
   * cache that can't sync holds up this controller and no other. Writes of reconciles are subject to `permit`.
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
      labelSelector: settings.labelSelector,
      transform: transformOf(controller.resource)
    })
    const informers = yield* Effect.forEach(controller.triggers, (trigger) =>
      Effect.map(
        cache.informer(trigger.resource, {
          labelSelector: trigger.labelSelector,
          indexes: trigger.indexes,
          transform: transformOf(trigger.resource)
        }),
        (informer) => [trigger, informer] as const
      )
    )
    const all = [primary, ...informers.map(([, informer]) => informer)]
    const synced = Effect.forEach(all, (informer) => informer.synced, { discard: true })
    const started = yield* Effect.makeLatch(false)
    /** Open while no worker runs, of whatever term. */
    const idle = yield* Effect.makeLatch(true)
    const concurrency = settings.concurrency ?? controller.concurrency
    const gracePeriod = Duration.decode(settings.gracePeriod ?? "30 seconds")
    const syncPeriod = Duration.decode(settings.syncPeriod ?? "10 hours")
    const writes = OwnWrites.make()
    const metered = yield* Metered.make(controller.name, concurrency, writes)
    const hotLoop = HotLoop.make()
    const detect = HotLoopObserver.observer(hotLoop, {
      fieldManager: controller.fieldManager,
      writes,
      found: metered.found,
      isThere: ({ metadata }) => primary.store.get(keyString(metadata))?.metadata.uid === metadata.uid
    })
    const recent = Recent.make()
    /** Open during a term, and between terms. */
    const during = yield* Effect.makeLatch(false)
    const between = yield* Effect.makeLatch(true)
    let current = Option.none<WorkQueue.WorkQueue<Fired>>()
    let hangs = false

    const connect = (part: Pick<Parameters<typeof Intake.connect>[1], "queue" | "memory" | "gone" | "news">) =>
      Intake.connect(controller, { ...part, history: settings.history, primary, informers })

    const standBy = connect({ queue: recent, memory: Memory.make(hotLoop), gone: () => {}, news: true }).pipe(
      (intake) => Fence.within(intake, behindLeader),
      Effect.zipRight(during.await),
      Effect.scoped,
      Effect.zipRight(between.await),
      Effect.forever
    )

    /** What every term begins with. */
    const begin = Effect.gen(function* () {
      const shared: Worker.Shared<R> = {
        controller,
        queue: yield* WorkQueue.make<Fired>(),
        informer: primary,
        wire: CustomResource.undecoded(controller.resource),
        backoffs: yield* Backoff.make(controller.retry),
        memory: Memory.make(hotLoop),
        timeouts: yield* Timeouts.make(yield* Effect.clock, controller.timeout),
        trouble: new Map()
      }
      const { memory, queue } = shared
      yield* metered.follow(queue, shared.backoffs)
      yield* Effect.acquireRelease(
        Effect.suspend(() => {
          current = Option.some(queue)
          return Effect.zipRight(between.close, during.open)
        }),
        () =>
          Effect.suspend(() => {
            current = Option.none()
            return Effect.zipRight(during.close, between.open)
          })
      )
      yield* connect({ queue, memory, gone: (key) => Worker.forget(shared, key) })
      // What went between two terms, while nobody listened.
      hotLoop.retain(new Set(primary.store.list().map(({ metadata }) => metadata.uid)))
      recent.handOver(queue.add)
      return shared
    })

    const work = (shared: Worker.Shared<R>) =>
      synced.pipe(
        Effect.zipRight(Effect.logInfo(`Controller ${controller.name} starts with ${concurrency} workers`)),
        Effect.zipRight(started.open),
        Effect.zipRight(Worker.pool(shared, concurrency))
      )

    /** Waits for what was interrupted, in vain if need be. */
    const settled = idle.await.pipe(Effect.interruptible, Effect.timeoutOption(cleanUp), Effect.map(Option.isSome))

    const workers = (shared: Worker.Shared<R>, metrics: Metrics.Registry) =>
      Effect.acquireUseRelease(
        idle.close,
        () => Effect.provideService(work(shared), Metrics.Metrics, metrics),
        () => idle.open
      ).pipe(
        // Who interrupts does not wait for the end: it would have to wait for ever for one that does not come.
        Effect.disconnect,
        Effect.forkScoped
      )

    const abandon = (queue: WorkQueue.WorkQueue<Fired>, fiber: Fiber.Fiber<void>) =>
      Effect.suspend(() => {
        queue.shutDown()
        return Effect.zipRight(Fiber.interrupt(fiber), settled)
      })

    const drain = (queue: WorkQueue.WorkQueue<Fired>, fiber: Fiber.Fiber<void>) =>
      Effect.gen(function* () {
        queue.shutDown()
        const inFlight = queue.snapshot().processing
        if (inFlight > 0) {
          yield* Effect.logInfo(`Controller ${controller.name} finishes ${inFlight} reconciles`)
          // Not the end of the workers but of their work is awaited: some may be waiting for a server to answer.
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
            `Controller ${controller.name} leaves ${queue.snapshot().processing} reconciles behind, which do not end although they were interrupted`
          )
        }
        return ended
      })

    const term = (stop: Effect.Effect<void>) =>
      Effect.gen(function* () {
        const shared = yield* begin
        // What a reconcile tells of its objects would grow old on a standby, beside what the next leader tells.
        const fiber = yield* workers(shared, yield* Metrics.scoped)
        if (Duration.toMillis(syncPeriod) > 0) yield* resync(shared, syncPeriod)
        // Workers end when they are told to. If they do before, a mistake is why, and the term dies of it.
        const stopped = Effect.raceFirst(stop, Effect.zipRight(Fiber.join(fiber), Effect.never))
        return yield* Effect.zipRight(stopped, drain(shared.queue, fiber)).pipe(
          Effect.onInterrupt(() => abandon(shared.queue, fiber))
        )
      }).pipe(Effect.scoped)

    /** What was in progress when a term ended is what the next one begins with. */
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
            Effect.zipRight(
              Effect.raceFirst(idle.await, Effect.zipRight(Effect.delay(hang(true), patience), Effect.never))
            ),
            // One who leads no more may hang as it likes: another process works.
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
      writes,
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

const resync = <R>({ informer, queue }: Worker.Shared<R>, period: Duration.Duration) =>
  Effect.gen(function* () {
    const clock = yield* Effect.clock
    const first = yield* Random.nextIntBetween(0, parts)
    for (let turn = first; ; turn++) {
      yield* Effect.sleep(Duration.times(period, 1 / parts))
      const at = clock.unsafeCurrentTimeMillis()
      for (const key of informer.store.keys()) {
        if (Math.abs(Hash.string(key)) % parts === turn % parts) {
          queue.add(key, { kind: "resync", at }, { priority: WorkQueue.low })
        }
      }
    }
  }).pipe(Effect.forkScoped)
