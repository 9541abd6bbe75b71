/**
 * Controllers in one process, over one client and one cache.
 *
 * Start: caches fill, also on a standby. Each controller starts when its own caches have synced and, if it is leader-elected, this
 * process leads. A controller whose caches do not sync does not delay the others. The liveness check `controllers` fails if a defect of
 * the runtime ends a controller, or if a reconcile that does not end blocks a leader. Then the kubelet restarts the process.
 *
 * Shutdown, when the scope closes: intake stops, and reconciles in progress may finish within the grace period, all controllers at
 * once. Then the manager interrupts them, writes Events, releases the Lease and closes watches. It renews the Lease until then. A
 * standby ends at once. Each step is bounded, so the process always ends. If a reconcile does not end within {@link Runner.cleanUp}
 * after its interruption, the manager does not wait longer. It then lets the Lease expire, because no fence can hold back effects
 * outside the cluster.
 */
import * as Clock from "effect/Clock"
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
import * as WriteSwitch from "../client/WriteSwitch.ts"
import type { Controller, Services } from "../controller/Controller.ts"
import * as Reachability from "../controller/Reachability.ts"
import * as Runner from "../controller/Runner.ts"
import * as EventRecorder from "../events/EventRecorder.ts"
import * as CpuUse from "../queue/CpuUse.ts"
import * as CustomResource from "../resource/CustomResource.ts"
import * as Resource from "../resource/Resource.ts"
import * as Metrics from "../telemetry/Metrics.ts"
import * as CacheReadiness from "./CacheReadiness.ts"
import * as Collection from "./Collection.ts"
import * as FairScheduler from "./FairScheduler.ts"
import type { FirstContact } from "./FirstContact.ts"
import { Health } from "./Health.ts"
import type { LeaderElection } from "./LeaderElection.ts"
import * as ProcessMetrics from "./ProcessMetrics.ts"
import * as RecordingsPage from "./recordings/Page.ts"
import * as Ring from "./recordings/Ring.ts"
import * as ServedSchema from "./ServedSchema.ts"
import * as Transforms from "./Transforms.ts"
import type { Admissions } from "./why/Admissions.ts"
import type { Journaled } from "./why/Gather.ts"
import * as Journal from "./why/Journal.ts"
import * as WhyPage from "./why/Page.ts"

/** The services of reconciles, for one cluster. */
export type Runtime = Services | Reachability.Reachability

/**
 * The services of a manager, over the transport to a cluster. Closing their scope closes every watch.
 *
 * @example
 * ```ts
 * const manager = Effect.provide(Manager.start([controller]), Manager.layer({ instance: "sites-0" }))
 * ```
 */
export const layer = (options: {
  /** The namespaces that the manager follows; none means all. */
  readonly namespaces?: ReadonlyArray<string> | undefined
  /** The bytes that all cached objects may take: see `Cache.Options`. */
  readonly cacheMemory?: number | undefined
  /** The reporting instance of Events: the name of the pod or of the host. */
  readonly instance: string
  /** Sent as `User-Agent`. */
  readonly userAgent?: string | undefined
  /** The first contact with the API server, which the reads of the manager make. Default: none. */
  readonly contact?: Pick<FirstContact, "client"> | undefined
  /** The registry of all metrics; default a new one. */
  readonly metrics?: Metrics.Registry | undefined
}): Layer.Layer<Runtime, never, Transport> =>
  // One layer, because composing layers takes longer than building the services.
  Layer.effectContext(
    Effect.gen(function* () {
      const made = yield* Client.make({ userAgent: options.userAgent })
      const client = options.contact === undefined ? made : options.contact.client(made)
      const writes = yield* WriteSwitch.make
      const services = yield* Effect.gen(function* () {
        const cache = yield* Cache.make({ namespaces: options.namespaces, memory: options.cacheMemory })
        const recorder = yield* EventRecorder.make({ instance: options.instance })
        return Context.empty().pipe(
          Context.add(Cache.Cache, cache),
          Context.add(EventRecorder.EventRecorder, recorder),
          Context.add(Reachability.Reachability, yield* Reachability.ofCluster)
        )
      }).pipe(Effect.provideService(Client.Client, client), Effect.provideService(WriteSwitch.WriteSwitch, writes))
      yield* ProcessMetrics.metered
      yield* FairScheduler.lagMetered
      // The metrics page takes the registry from the context of its fiber.
      return services.pipe(
        Context.add(Client.Client, client),
        Context.add(WriteSwitch.WriteSwitch, writes),
        Context.add(Metrics.Metrics, yield* Metrics.Metrics)
      )
    }).pipe(
      Effect.provideServiceEffect(
        Metrics.Metrics,
        Effect.sync(() => options.metrics ?? Metrics.make())
      )
    )
  )

/** How a manager runs its controllers. */
export interface Settings {
  /** Workers: one number for all controllers, or one per controller name. */
  readonly workers?: number | { readonly [controller: string]: number } | undefined
  /** A label selector for the objects of the reconciled kinds. */
  readonly labelSelector?: string | undefined
  /**
   * Each object is reconciled at least once in this period, even without changes; 0: never. Default 10 hours. The manager spreads the
   * objects over it.
   */
  readonly syncPeriod?: Duration.Input | undefined
  /** How long reconciles in progress may continue on shutdown, before they are interrupted. Default 30 seconds. */
  readonly gracePeriod?: Duration.Input | undefined
  /** Elects the replica that runs the leader-elected controllers. Without it, every replica runs all controllers. */
  readonly leaderElection?: LeaderElection | undefined
  /** Work besides the controllers that one replica alone may do. It runs while this process leads, or always without an election. */
  readonly whileLeading?: Effect.Effect<never> | undefined
  /**
   * Whether no object of a custom kind is reconciled while the CRD of the cluster lacks fields of its spec; the value is the command that
   * prints the right CRD. Default: the CRDs are not compared.
   */
  readonly comparesCrds?: string | undefined
  /** The answers of the program's webhooks, for `why`. Default: none. */
  readonly admissions?: Admissions | undefined
  /**
   * The bounds of the recordings for `replay`: the attempts that failed or wrote. Default: the last 64 of them in at most 8 MiB. Count 0
   * turns them off. `program` names the program in a recording.
   */
  readonly recordings?: (Ring.Options & { readonly program?: string | undefined }) | undefined
}

/**
 * Starts controllers, which run until the scope closes. Leader-elected controllers run while this process leads, if there is an
 * election; others run at once. Returns at once; each runner logs its start. Dies if two controllers have the same name, or
 * the same kind and finalizer.
 *
 * @example
 * ```ts
 * const manager = Manager.start([controller], { syncPeriod: "1 hour" })
 * ```
 */
export const start = <R>(
  controllers: ReadonlyArray<Controller<R>>,
  settings: Settings = {}
): Effect.Effect<ReadonlyArray<Journaled>, never, R | Runtime | Scope.Scope> =>
  Effect.gen(function* () {
    const { leaderElection, whileLeading = Effect.never, workers } = settings
    const twin = controllers.find(({ name }, at) => controllers.findIndex((other) => other.name === name) < at)
    if (twin !== undefined) {
      // Logs, metrics, flags and field managers use the name.
      return yield* Effect.die(new Error(`two controllers are named ${twin.name}: give one of them another name`))
    }
    const shared = controllers.flatMap(({ finalizers, name, resource }, at) =>
      controllers.slice(0, at).flatMap((other) => {
        const isOfKind = Resource.nameOf(other.resource) === Resource.nameOf(resource)
        const entry = isOfKind ? finalizers.find((entry) => other.finalizers.includes(entry)) : undefined
        return entry === undefined
          ? []
          : [`controllers ${other.name} and ${name} of ${resource.kind} share the finalizer ${entry}`]
      })
    )
    if (shared[0] !== undefined) {
      return yield* Effect.die(
        new Error(`${shared[0]} (each needs its own: the first clean-up to finish would let the object go)`)
      )
    }
    const { flush } = yield* EventRecorder.EventRecorder
    const health = yield* Health
    const stopping = yield* Deferred.make<void>()
    let died = false
    const transformOf = Transforms.of(controllers)
    const ring = Ring.make(settings.recordings)
    const use = CpuUse.make()
    const schemas = new Map<string, ServedSchema.ServedSchema>()
    for (const { resource } of controllers) {
      const { comparesCrds } = settings
      if (comparesCrds === undefined || !CustomResource.isCustomResource(resource)) continue
      const name = Resource.nameOf(resource)
      if (!schemas.has(name)) schemas.set(name, yield* ServedSchema.make(resource, comparesCrds))
    }
    const runners = yield* Effect.forEach(controllers, (controller) => {
      const journal = Journal.make()
      const schema = schemas.get(Resource.nameOf(controller.resource))
      const prepared = Runner.prepare(controller, {
        transformOf,
        use,
        concurrency: typeof workers === "number" ? workers : workers?.[controller.name],
        labelSelector: settings.labelSelector,
        syncPeriod: settings.syncPeriod,
        gracePeriod: settings.gracePeriod,
        hold: schema?.hold,
        history: {
          ...journal,
          record: (attempt) => {
            journal.record(attempt)
            ring.record(attempt)
          }
        }
      })
      return Effect.map(prepared, (runner) => ({
        ...runner,
        journal,
        recordingOf: ring.traceOf,
        narrowed: schema?.problem
      }))
    })
    for (const [name, { check, run }] of schemas) {
      yield* health.readiness(`crd-${name}`, check)
      const informer = runners
        .flatMap(({ informers }) => informers)
        .find((each) => Resource.nameOf(each.resource) === name)
      if (informer !== undefined) yield* Effect.forkScoped(run(informer))
    }
    yield* health.liveness("controllers", () => {
      if (died) return "internal error: the controllers stopped unexpectedly (see the log)"
      const hanging = runners.flatMap((runner) => (runner.hangs() ? [runner.controller] : []))
      return hanging.length === 0
        ? undefined
        : `${hanging.join(" and ")} can't lead: reconciles of the last leadership do not end`
    })
    if (leaderElection !== undefined) {
      yield* health.readiness("leader-election", () => {
        const { overlap, refused, stop } = leaderElection.state()
        const notes = [
          ...(stop === undefined ? [] : [WriteSwitch.describe(stop)]),
          ...(overlap === undefined ? [] : [overlap])
        ]
        return refused ?? (notes.length === 0 ? undefined : { note: notes.join("; ") })
      })
    }
    yield* WhyPage.serve(controllers, runners, leaderElection, settings.admissions)
    yield* RecordingsPage.serve(ring, settings.recordings?.program)
    yield* Collection.afterFirstPass(runners)
    const expire = Effect.map(Clock.Clock, (clock) => {
      const now = clock.currentTimeMillisUnsafe()
      for (const { journal } of runners) journal.expire(now)
    })
    yield* Effect.forkScoped(Effect.forever(Effect.delay(expire, "1 minute")))
    yield* Effect.andThen(CacheReadiness.register, health.started)
    /** In parallel, also the draining, because the grace period is that of the process. */
    const lead = (some: ReadonlyArray<Runner.Prepared<R>>, others: Effect.Effect<never>) => (permit: Fence.Permit) =>
      Effect.forEach(some, (runner) => runner.lead(permit, Deferred.await(stopping)), {
        concurrency: "unbounded"
      }).pipe(
        // A leader without controllers keeps its leadership.
        Effect.tap(Deferred.await(stopping)),
        Effect.map((drained) => drained.every((isDrained) => isDrained)),
        Effect.raceFirst(Fence.within(others, permit))
      )
    const isElected = (runner: Runner.Prepared<R>) => leaderElection !== undefined && runner.leaderElected
    const elected = runners.filter(isElected)
    const everywhere = runners.filter((runner) => !isElected(runner))
    const standBy = Effect.forEach(elected, (runner) => runner.standBy, { concurrency: "unbounded" })
    const work = Effect.all(
      [
        lead(everywhere, leaderElection === undefined ? whileLeading : Effect.never)(Fence.open),
        leaderElection === undefined
          ? Effect.void
          : leaderElection
              // Writes the last Events of the leader while it still leads.
              .run((permit) => Effect.tap(lead(elected, whileLeading)(permit), flush), stopping)
              .pipe(Effect.raceFirst(Effect.andThen(standBy, Effect.never)))
      ],
      { concurrency: "unbounded", discard: true }
    )
    yield* Effect.acquireRelease(
      work.pipe(
        Effect.tapCause((cause) => {
          died = true
          return Effect.logFatal("Internal error: the controllers stopped unexpectedly", cause)
        }),
        Effect.interruptible,
        // In the scope instead of a child fiber, because a signal interrupts the main fiber and its children.
        Effect.forkScoped
      ),
      (fiber) =>
        health.shutDown.pipe(Effect.andThen(Deferred.succeed(stopping, undefined)), Effect.andThen(Fiber.await(fiber)))
    )
    return runners
  })

/**
 * Starts controllers on the cluster of the transport, with the services of a manager, and returns when all of them have started. The
 * caller provides other services that the controllers need. For tests, and for programs with their own composition.
 *
 * @example
 * ```ts
 * const manager = Manager.launch([controller], { namespaces: ["default"] })
 * ```
 */
export const launch = <R = never>(
  controllers: ReadonlyArray<Controller<R>>,
  { instance = "manager", namespaces, ...settings }: Settings & Partial<Parameters<typeof layer>[0]> = {}
): Effect.Effect<ReadonlyArray<Journaled>, never, Exclude<R, Runtime> | Transport | Scope.Scope> =>
  FairScheduler.within(
    Effect.flatMap(Layer.build(layer({ instance, namespaces })), (services) =>
      start(controllers, settings).pipe(
        Effect.tap((runners) => Effect.forEach(runners, ({ started }) => started, { discard: true })),
        Effect.provide(services)
      )
    )
  )
