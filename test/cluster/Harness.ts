/**
 * Tests controllers against a cluster in memory, in virtual time. It needs no installed programs and no real waiting, and each run takes
 * the same course.
 *
 * ```ts
 * const test = Harness.make({ crds: [Crd.of(Widget)], manager: Manager.launch([controller]) })
 *
 * test("a widget becomes ready", () =>
 *   Effect.gen(function* () {
 *     yield* Client.create(Widget, { metadata: { namespace: "default", name: "w" }, spec: { size: 3 } })
 *     yield* eventually("it is ready", Client.get(Widget, key), ({ status }) => status?.ready === true)
 *   }))
 * ```
 *
 * The cluster simulates pods: they are ready after 0.1 s, or fail as `kubelet/SimulatedPods` describes. The option
 * `kubelet: { pods: (pod) => ({ ends: { after: "2 minutes", exitCode: 3 } }) }` changes that.
 *
 * `eventually`, `stays` and `TestClock.adjust` move the time, and run everything that is due until then. A failed test shows the last
 * attempts of the controllers and the last warnings of the log. A failed `eventually` or `stays` shows the last value. The output contains
 * each warning of the API server once.
 */
// With an older major version of Effect, Bun does not find this module, and prints its name as the error.
import "#Homeostat needs effect 4.1 or a newer 4.x (bun add effect@4)"
import * as Client from "@homeostat/runtime/client/Client"
import type { Transport } from "@homeostat/runtime/client/Transport"
import * as Kinds from "@homeostat/runtime/command/Kinds"
import * as Attempt from "@homeostat/runtime/controller/Attempt"
import type { Controller } from "@homeostat/runtime/controller/Controller"
import type * as Manager from "@homeostat/runtime/manager/Manager"
import * as Rbac from "@homeostat/runtime/manager/Rbac"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as LogLevel from "effect/LogLevel"
import * as Random from "effect/Random"
import * as References from "effect/References"
import * as Scope from "effect/Scope"
import * as Attempts from "./Attempts.ts"
import * as EmbeddedCluster from "./EmbeddedCluster.ts"
import * as Eventually from "./Eventually.ts"
import * as AtRest from "./explore/AtRest.ts"
import { launch } from "./explore/Launch.ts"
import * as Retries from "./explore/Retries.ts"
import * as FailureReport from "./FailureReport.ts"
import * as Faults from "./Faults.ts"
import { live, timeoutMillis as usual } from "./Test.ts"
import * as VirtualTime from "./VirtualTime.ts"
import * as Warnings from "./Warnings.ts"

/** The options of all tests. */
export interface Options<E> extends EmbeddedCluster.Options {
  /** Starts the program under test on the cluster of the transport: `Manager.launch([controller])`. */
  readonly manager: Effect.Effect<unknown, E, Transport | Scope.Scope>
  /**
   * The roles and bindings for the manager and the webhooks, such as `Rbac.of([controller], { webhooks })`. Both have exactly these
   * permissions. Their user is the subject of the first binding. Default: an administrator.
   */
  readonly as?: ReadonlyArray<object> | undefined
  /**
   * Whether the test checks that the cluster is at rest after the body. A restarted manager must not write anything except Events and
   * Leases. Faults end before that. Default true.
   */
  readonly atRest?: boolean | undefined
  /** The minimum level of the log. Default: no log. */
  readonly logLevel?: LogLevel.LogLevel | undefined
}

/** The cluster of a test. */
export interface Cluster extends EmbeddedCluster.EmbeddedCluster {
  /** The faults between the manager and the API server, at first without rules. The client of the test does not have them. */
  readonly faults: Faults.Faults
}

/** The body of a test. It has its own client, and access to the cluster. */
export type Body<A, E> = (cluster: Cluster) => Effect.Effect<A, E, Client.Client | Scope.Scope>

/**
 * Runs a body in a new cluster with the running manager. The virtual time starts in 1970. The manager stops afterwards.
 *
 * @example
 * ```ts
 * import { BuiltIn, Client } from "@homeostat/runtime"
 * import * as Harness from "@homeostat/testkit/Harness"
 * import { live } from "@homeostat/testkit/Test"
 * import { Effect } from "effect"
 *
 * live("a cluster begins with its namespaces", () =>
 *   Harness.run({ manager: Effect.void }, () => Client.get(BuiltIn.Namespace, { name: "default" }))
 * )
 * ```
 */
export const run = <A, E, E2>(options: Options<E2>, body: Body<A, E>): Effect.Effect<A, E | E2 | AtRest.NotAtRest> =>
  Effect.suspend(() => {
    const time = VirtualTime.make()
    const attempts = Attempts.make()
    const retries = Retries.make()
    const observe: Attempt.Observer = (attempt) => {
      retries.ended(attempt)
      return attempts.observe(attempt)
    }
    const faults = Faults.make(options.seed)
    const isLogged = LogLevel.isLessThanOrEqualTo(options.logLevel ?? "None", "Warn")
    const course = Effect.gen(function* () {
      const { webhooks = [], ...others } = options
      const embedded = yield* EmbeddedCluster.make({ seed: 1, ...others })
      // With a log, the clients log the warnings.
      const printing = (transport: Layer.Layer<Transport>) => (isLogged ? transport : Warnings.printing(transport))
      const transport = printing(embedded.transport)
      const cluster = { ...embedded, transport, client: Layer.provide(Client.layer(), transport), faults }
      const own = options.as === undefined ? embedded : yield* embedded.bind(options.as)
      if (webhooks.length > 0) yield* embedded.admit(webhooks, own)
      const manager = yield* Scope.make()
      // A manager needs time to stop, too.
      const stop = time.during(Scope.close(manager, Exit.void))
      yield* Effect.addFinalizer(() => stop)
      const faulty = faults.over(printing(own.transport))
      yield* Scope.provide(Effect.provide(options.manager, faulty), manager)
      // The manager opens its watches first.
      yield* time.pass(0)
      const result = yield* Effect.provide(body(cluster), cluster.client)
      if (options.atRest === false) return result
      faults.clear()
      const { store } = embedded.server
      const lag = faults.longest()
      yield* AtRest.check({ time, store, transport: own.transport, manager: options.manager, retries, lag, stop })
      return result
    })
    return Effect.acquireUseRelease(
      Scope.make(),
      (scope) => Scope.provide(course, scope),
      // A manager needs time to stop, too.
      (scope, exit) => time.during(Scope.close(scope, exit))
    ).pipe(
      Attempt.observedBy(observe),
      Effect.provideService(Eventually.attempts, attempts.describe),
      time.within,
      Random.withSeed(options.seed ?? 1),
      (course) =>
        Effect.flatMap(FailureReport.quiet, (level) =>
          Effect.provideService(course, References.MinimumLogLevel, options.logLevel ?? level)
        )
    )
  })

/**
 * Makes the function that declares a test of `bun test`.
 *
 * @example
 * ```ts
 * import { BuiltIn, Client, Controller, Manager, Owned, Result } from "@homeostat/runtime"
 * import { eventually } from "@homeostat/testkit/Eventually"
 * import * as Harness from "@homeostat/testkit/Harness"
 * import { Effect } from "effect"
 *
 * const controller = Controller.make("copy", {
 *   for: BuiltIn.Service,
 *   owns: [BuiltIn.ConfigMap],
 *   reconcile: (service) =>
 *     Effect.as(Owned.apply(service, BuiltIn.ConfigMap, { metadata: { name: service.metadata.name } }), Result.done)
 * })
 *
 * const test = Harness.make({ manager: Manager.launch([controller]) })
 *
 * test("each Service has a ConfigMap", () =>
 *   Effect.gen(function* () {
 *     const key = { namespace: "default", name: "shop" }
 *     yield* Client.create(BuiltIn.Service, { metadata: key, spec: { ports: [{ port: 80 }] } })
 *     yield* eventually("it exists", Client.get(BuiltIn.ConfigMap, key), () => true)
 *   }))
 * ```
 */
export const make =
  <E2>(options: Options<E2>) =>
  <A, E>(name: string, body: Body<A, E>, timeoutMillis = usual): void =>
    live(
      name,
      () => {
        const report = FailureReport.make()
        const course = run(options, (cluster) => report.of(body(cluster)))
        return options.logLevel === undefined ? Effect.provide(course, report.layer) : course
      },
      timeoutMillis
    )

/** A function that declares a test, as {@link make} returns it. */
export type Declare = <A, E>(name: string, body: Body<A, E>, timeoutMillis?: number) => void

/** The options of {@link of}. */
export interface ControllerOptions extends Partial<Omit<Options<never>, "manager">> {
  /** The settings of the manager. Default: all namespaces, and no leader election. */
  readonly settings?: NonNullable<Parameters<typeof Manager.launch>[1]> | undefined
}

/**
 * Makes the same function for controllers. The cluster has the CRDs of their kinds. The manager has exactly the permissions that
 * `homeostat rbac` prints, so a test finds a missing permission.
 *
 * @example
 * ```ts
 * import { BuiltIn, Client, Controller, Owned, Result } from "@homeostat/runtime"
 * import { eventually } from "@homeostat/testkit/Eventually"
 * import * as Harness from "@homeostat/testkit/Harness"
 * import { Effect } from "effect"
 *
 * const controller = Controller.make("copy", {
 *   for: BuiltIn.Service,
 *   owns: [BuiltIn.ConfigMap],
 *   reconcile: (service) =>
 *     Effect.as(Owned.apply(service, BuiltIn.ConfigMap, { metadata: { name: service.metadata.name } }), Result.done)
 * })
 *
 * const test = Harness.of([controller])
 *
 * test("each Service has a ConfigMap", () =>
 *   Effect.gen(function* () {
 *     const key = { namespace: "default", name: "shop" }
 *     yield* Client.create(BuiltIn.Service, { metadata: key, spec: { ports: [{ port: 80 }] } })
 *     yield* eventually("it exists", Client.get(BuiltIn.ConfigMap, key), () => true)
 *   }))
 * ```
 */
export const of: {
  (controllers: ReadonlyArray<Controller<Manager.Runtime>>, options?: ControllerOptions): Declare
  /** @param options `layer` has the other services of the controllers. Each start of the manager builds them */
  <R>(
    controllers: ReadonlyArray<Controller<R>>,
    options: ControllerOptions & { readonly layer: Layer.Layer<Exclude<R, Manager.Runtime>> }
  ): Declare
} = <R>(
  controllers: ReadonlyArray<Controller<R>>,
  {
    layer = Layer.empty as Layer.Layer<Exclude<R, Manager.Runtime>>,
    settings = {},
    ...options
  }: ControllerOptions & { readonly layer?: Layer.Layer<Exclude<R, Manager.Runtime>> } = {}
) =>
  make({
    converted: Kinds.of({ controllers }),
    as: Rbac.of(controllers, { webhooks: options.webhooks ?? [], namespaces: settings.namespaces ?? [] }),
    manager: launch(controllers, settings, layer),
    ...options
  })
