/**
 * A controller at work: its informers, its queue and its workers, from start to drained.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import type * as Scope from "effect/Scope"
import * as Cache from "../cache/Cache.ts"
import * as Backoff from "../queue/Backoff.ts"
import * as RateLimiter from "../queue/RateLimiter.ts"
import * as WorkQueue from "../queue/WorkQueue.ts"
import * as Resource from "../resource/Resource.ts"
import type { Controller } from "./Controller.ts"
import * as Intake from "./Intake.ts"
import * as Memory from "./Memory.ts"
import type { Reachability } from "./Reachability.ts"
import type { Fired } from "./Trigger.ts"
import * as Worker from "./Worker.ts"

/** How a controller is run. */
export interface Settings {
  /** Workers, instead of the controller's own number. */
  readonly concurrency?: number | undefined
  /** Only objects with these labels are seen. */
  readonly labelSelector?: string | undefined
  /** Every object is reconciled this often, even if nothing changed, ± a tenth; 0: never. Default 10 hours, controller-runtime's. */
  readonly syncPeriod?: Duration.DurationInput | undefined
  /** How long reconciles in progress may go on when the scope closes; then they are interrupted. Default 30 seconds. */
  readonly gracePeriod?: Duration.DurationInput | undefined
}

/** A running controller. */
export interface Runner {
  readonly controller: string
  readonly informers: ReadonlyArray<Cache.Informer>
  /** Done when every cache of the controller is synced and its workers have started. */
  readonly started: Effect.Effect<void>
  readonly queue: WorkQueue.WorkQueue<Fired>
}

/**
 * Starts a controller; it runs as long as the scope. Its workers start once **all** its caches are synced, because a child
 * that is only not seen yet must not be taken for missing. A cache that can't sync holds up this controller and no other.
 *
 * When the scope closes: no key is handed out any more, reconciles in progress go on undisturbed for the grace period, and
 * what is left is interrupted and waited for.
 */
export const start = <R>(
  controller: Controller<R>,
  settings: Settings = {}
): Effect.Effect<Runner, never, R | Cache.Cache | Reachability | Scope.Scope> =>
  Effect.gen(function* () {
    const cache = yield* Cache.Cache
    const queue = yield* WorkQueue.make<Fired>()
    const shared: Worker.Shared<R> = {
      controller,
      queue,
      informer: yield* cache.informer(controller.resource, { labelSelector: settings.labelSelector }),
      wire: Resource.make({ ...controller.resource, decode: undefined }),
      backoffs: yield* Backoff.make(controller.retry),
      limiter: yield* RateLimiter.make(),
      memory: Memory.make(),
      trouble: new Map()
    }
    const informers = yield* Effect.forEach(controller.triggers, (trigger) =>
      Effect.map(
        cache.informer(trigger.resource, { labelSelector: trigger.labelSelector, indexes: trigger.indexes }),
        (informer) => [trigger, informer] as const
      )
    )
    yield* Intake.connect(controller, {
      queue,
      memory: shared.memory,
      primary: shared.informer,
      informers,
      gone: (key) => {
        shared.backoffs.forget(key)
        shared.trouble.delete(key)
      }
    })

    const all = [shared.informer, ...informers.map(([, informer]) => informer)]
    const synced = Effect.forEach(all, (informer) => informer.synced, { discard: true })
    const started = yield* Effect.makeLatch(false)
    const concurrency = settings.concurrency ?? controller.concurrency
    const workers = yield* Effect.acquireRelease(
      synced.pipe(
        Effect.zipRight(Effect.logInfo(`Controller ${controller.name} starts with ${concurrency} workers`)),
        Effect.zipRight(started.open),
        Effect.zipRight(
          Effect.replicateEffect(Worker.run(shared), concurrency, { concurrency: "unbounded", discard: true })
        ),
        Effect.interruptible,
        // A fiber of the scope and no child of this one: children are interrupted with their parent, at once, and a signal
        // interrupts the parent of all. The drain below comes first, as it joins the scope last.
        Effect.forkScoped
      ),
      (fiber) => drain(controller, queue, fiber, Duration.decode(settings.gracePeriod ?? "30 seconds"))
    )
    const period = Duration.decode(settings.syncPeriod ?? "10 hours")
    if (Duration.toMillis(period) > 0) yield* resync(shared, period)
    return {
      controller: controller.name,
      informers: all,
      started: Effect.raceFirst(started.await, Fiber.join(workers)),
      queue
    }
  })

const drain = <R>(
  controller: Controller<R>,
  queue: WorkQueue.WorkQueue<Fired>,
  workers: Fiber.RuntimeFiber<void>,
  gracePeriod: Duration.Duration
) =>
  Effect.gen(function* () {
    queue.shutDown()
    const inFlight = queue.snapshot().processing
    if (inFlight > 0) {
      yield* Effect.logInfo(`Controller ${controller.name} finishes ${inFlight} reconciles`)
      // Not the end of the workers but of their work is awaited: some may be waiting for a server to answer.
      const drained = yield* Effect.sleep(Duration.millis(10)).pipe(
        Effect.repeat({ until: () => queue.snapshot().processing === 0 }),
        Effect.interruptible,
        Effect.timeoutOption(gracePeriod)
      )
      if (Option.isNone(drained)) {
        yield* Effect.logWarning(
          `Controller ${controller.name} interrupts ${queue.snapshot().processing} reconciles: the grace period is over`
        )
      }
    }
    yield* Fiber.interrupt(workers)
  })

const resync = <R>({ informer, queue }: Worker.Shared<R>, period: Duration.Duration) =>
  Effect.gen(function* () {
    const clock = yield* Effect.clock
    const jitter = yield* Random.nextRange(0.9, 1.1)
    yield* Effect.sleep(Duration.times(period, jitter))
    const at = clock.unsafeCurrentTimeMillis()
    for (const key of informer.store.keys()) queue.add(key, { kind: "resync", at }, { priority: WorkQueue.low })
  }).pipe(Effect.forever, Effect.forkScoped)
