/**
 * Controllers in one process, over one client and one cache.
 *
 * Up: caches fill, on a standby too, and each controller starts when all of its own are synced and, if it is leader-elected, this
 * process leads; one that can't sync holds up nobody else. Should they end by a mistake of the runtime, or one that
 * leads be held up by a reconcile that does not end, the process fails its liveness (`controllers`), so that it is replaced.
 *
 * Down, when the scope closes: no more intake, reconciles in progress are finished (all controllers at once, for the grace
 * period) and then interrupted, events are written, the Lease is released, watches are closed. The Lease is renewed until
 * then. A process that does not lead ends at once. Each step is bounded, so that the process ends whatever the API server or
 * a reconcile does: a reconcile that does not end although it was interrupted is left behind after {@link Runner.cleanUp},
 * and the Lease is then left to expire, for what it does outside of the cluster no fence can hold back.
 */
import * as Arr from "effect/Array"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Cache from "../cache/Cache.ts"
import * as Client from "../client/Client.ts"
import * as Fence from "../client/Fence.ts"
import type { Transport } from "../client/Transport.ts"
import type { Controller, Services } from "../controller/Controller.ts"
import * as Reachability from "../controller/Reachability.ts"
import * as Runner from "../controller/Runner.ts"
import * as EventRecorder from "../events/EventRecorder.ts"
import * as Metrics from "../telemetry/Metrics.ts"
import * as CacheReadiness from "./CacheReadiness.ts"
import * as Collection from "./Collection.ts"
import * as FairScheduler from "./FairScheduler.ts"
import type { FirstContact } from "./FirstContact.ts"
import { Health } from "./Health.ts"
import type { LeaderElection } from "./LeaderElection.ts"
import * as ProcessMetrics from "./ProcessMetrics.ts"
import * as Transforms from "./Transforms.ts"
import type { Journaled } from "./why/Gather.ts"
import * as Journal from "./why/Journal.ts"
import * as WhyPage from "./why/Page.ts"

/** What reconciling needs, for one cluster. */
export type Runtime = Services | Reachability.Reachability

/** The services of a manager, over the transport to a cluster. Closing their scope closes every watch. */
export const layer = (options: {
  /** Only objects of these namespaces are seen; none means all. */
  readonly namespaces?: ReadonlyArray<string> | undefined
  /** Who reports events: the pod's name or the host's. */
  readonly instance: string
  /** Sent as `User-Agent`. */
  readonly userAgent?: string | undefined
  /** The first contact with the API server, which the reads of the manager make. Default: the reads report nothing. */
  readonly contact?: Pick<FirstContact, "client"> | undefined
  /** Where everything is counted; default a registry of its own. */
  readonly metrics?: Metrics.Registry | undefined
}): Layer.Layer<Runtime, never, Transport> =>
  // One layer and no composition of layers, which takes longer than what it builds.
  Layer.scopedContext(
    Effect.gen(function* () {
      const made = yield* Client.make({ userAgent: options.userAgent })
      const client = options.contact === undefined ? made : options.contact.client(made)
      const services = yield* Effect.gen(function* () {
        const cache = yield* Cache.make({ namespaces: options.namespaces })
        const recorder = yield* EventRecorder.make({ instance: options.instance })
        return Context.empty().pipe(
          Context.add(Cache.Cache, cache),
          Context.add(EventRecorder.EventRecorder, recorder),
          Context.add(Reachability.Reachability, yield* Reachability.ofCluster)
        )
      }).pipe(Effect.provideService(Client.Client, client))
      yield* ProcessMetrics.metered
      yield* FairScheduler.lagMetered
      // Whoever serves the metrics finds the registry in the fiber's context.
      return services.pipe(Context.add(Client.Client, client), Context.add(Metrics.Metrics, yield* Metrics.Metrics))
    }).pipe(
      Effect.provideServiceEffect(
        Metrics.Metrics,
        Effect.sync(() => options.metrics ?? Metrics.make())
      )
    )
  )

/** How a manager runs its controllers. */
export interface Settings {
  /** Workers: one number for all, or one for each controller by name. */
  readonly workers?: number | { readonly [controller: string]: number } | undefined
  /** Only objects of the reconciled kinds with these labels are seen. */
  readonly labelSelector?: string | undefined
  /** Every object is reconciled once in this time, even if nothing changed; 0: never. Default 10 hours. The manager spreads the objects over it. */
  readonly syncPeriod?: Duration.DurationInput | undefined
  /** How long reconciles in progress may go on after the scope is closed, before they are interrupted. Default 30 seconds. */
  readonly gracePeriod?: Duration.DurationInput | undefined
  /** By which the replicas agree on who runs the controllers that are leader-elected. Without one, every replica runs all. */
  readonly leaderElection?: LeaderElection | undefined
}

/**
 * Starts controllers, which run as long as the scope: those that are leader-elected while this process leads, if there is an
 * election, and the others at once. Returns at once; each runner tells when it has started. Dies if two have one name.
 */
export const start = <R>(
  controllers: ReadonlyArray<Controller<R>>,
  settings: Settings = {}
): Effect.Effect<ReadonlyArray<Journaled>, never, R | Runtime | Scope.Scope> =>
  Effect.gen(function* () {
    const { leaderElection, workers } = settings
    const twin = controllers.find(({ name }, at) => controllers.findIndex((other) => other.name === name) < at)
    if (twin !== undefined) {
      // Logs, metrics, flags and the ownership of fields go by the name.
      return yield* Effect.dieMessage(`two controllers are named ${twin.name}: give one of them another name`)
    }
    const { flush } = yield* EventRecorder.EventRecorder
    const health = yield* Health
    const stopping = yield* Deferred.make<void>()
    let died = false
    const transformOf = Transforms.of(controllers)
    const runners = yield* Effect.forEach(controllers, (controller) => {
      const journal = Journal.make()
      const prepared = Runner.prepare(controller, {
        transformOf,
        concurrency: typeof workers === "number" ? workers : workers?.[controller.name],
        labelSelector: settings.labelSelector,
        syncPeriod: settings.syncPeriod,
        gracePeriod: settings.gracePeriod,
        history: journal
      })
      return Effect.map(prepared, (runner) => ({ ...runner, journal }))
    })
    yield* health.liveness("controllers", () => {
      if (died) return "the controllers have stopped by a mistake of the runtime: see the log"
      const hanging = runners.flatMap((runner) => (runner.hangs() ? [runner.controller] : []))
      return hanging.length === 0
        ? undefined
        : `${hanging.join(" and ")} can't lead: reconciles of the last leadership do not end`
    })
    if (leaderElection !== undefined) {
      yield* health.readiness("leader-election", () => leaderElection.state().refused)
    }
    yield* WhyPage.serve(controllers, runners, leaderElection)
    yield* Collection.afterFirstPass(runners)
    const expire = Effect.map(Effect.clock, (clock) => {
      const now = clock.unsafeCurrentTimeMillis()
      for (const { journal } of runners) journal.expire(now)
    })
    yield* Effect.forkScoped(Effect.forever(Effect.delay(expire, "1 minute")))
    yield* Effect.zipRight(CacheReadiness.register, health.started)
    /** Side by side, the draining too: the grace period is the process's, not each controller's. */
    const lead = (some: ReadonlyArray<Runner.Prepared<R>>) => (permit: Fence.Permit) =>
      Effect.forEach(some, (runner) => runner.lead(permit, Deferred.await(stopping)), {
        concurrency: "unbounded"
      }).pipe(
        // One who leads without any controller to run leads on.
        Effect.zipLeft(Deferred.await(stopping)),
        Effect.map((drained) => drained.every((isDrained) => isDrained))
      )
    const isElected = (runner: Runner.Prepared<R>) => leaderElection !== undefined && runner.leaderElected
    const [everywhere, elected] = Arr.partition(runners, isElected)
    const standBy = Effect.forEach(elected, (runner) => runner.standBy, { concurrency: "unbounded" })
    const work = Effect.all(
      [
        lead(everywhere)(Fence.open),
        leaderElection === undefined
          ? Effect.void
          : leaderElection
              // What the leader did last is told while it still leads.
              .run((permit) => Effect.zipLeft(lead(elected)(permit), flush), stopping)
              .pipe(Effect.raceFirst(Effect.zipRight(standBy, Effect.never)))
      ],
      { concurrency: "unbounded", discard: true }
    )
    yield* Effect.acquireRelease(
      work.pipe(
        Effect.tapErrorCause((cause) => {
          died = true
          return Effect.logFatal("The controllers have stopped by a mistake of the runtime", cause)
        }),
        Effect.interruptible,
        // A fiber of the scope and no child of this one: a signal interrupts the parent of all, and children with it.
        Effect.forkScoped
      ),
      (fiber) =>
        health.shutDown.pipe(
          Effect.zipRight(Deferred.succeed(stopping, undefined)),
          Effect.zipRight(Fiber.await(fiber))
        )
    )
    return runners
  })

/**
 * Starts controllers on the cluster that the transport leads to, with services of their own, and returns when they are at work:
 * what a test of a controller needs, or a program that is composed in its own way.
 */
export const launch = (
  controllers: ReadonlyArray<Controller<Runtime>>,
  { instance = "manager", namespaces, ...settings }: Settings & Partial<Parameters<typeof layer>[0]> = {}
): Effect.Effect<ReadonlyArray<Journaled>, never, Transport | Scope.Scope> =>
  FairScheduler.within(
    Effect.flatMap(Layer.build(layer({ instance, namespaces })), (services) =>
      start(controllers, settings).pipe(
        Effect.tap((runners) => Effect.forEach(runners, ({ started }) => started, { discard: true })),
        Effect.provide(services)
      )
    )
  )
