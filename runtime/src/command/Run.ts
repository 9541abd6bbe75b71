/**
 * `run`: the controllers at work, until a signal.
 *
 * Up: the ports open first, so that a probe is answered as soon as the process runs, and `/readyz` says what is waited for:
 * the cluster's settings, the first word with the API server, its CRDs. Then the manager starts. Down is the manager's order;
 * the ports close last. Whatever is waited for, a signal ends it.
 */
import { hostname } from "node:os"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as KubeConfig from "../client/KubeConfig.ts"
import * as Transport from "../client/Transport.ts"
import type { Controller, Services } from "../controller/Controller.ts"
import * as BindAddress from "../manager/BindAddress.ts"
import * as Connections from "../manager/Connections.ts"
import * as Crds from "../manager/Crds.ts"
import * as Endpoints from "../manager/Endpoints.ts"
import * as FirstContact from "../manager/FirstContact.ts"
import * as Health from "../manager/Health.ts"
import * as LeaderElection from "../manager/LeaderElection.ts"
import * as Manager from "../manager/Manager.ts"
import * as MetricsPage from "../manager/MetricsPage.ts"
import * as Permission from "../manager/Permission.ts"
import * as Preflight from "../manager/Preflight.ts"
import * as Crd from "./Crd.ts"
import * as Election from "./Election.ts"
import * as Flag from "./Flag.ts"
import * as Flags from "./Flags.ts"
import * as Logging from "./Logging.ts"
import * as Verb from "./Verb.ts"
import * as Workers from "./Workers.ts"

/** What a program is made of. */
export interface Program<R, E> extends Verb.Named {
  readonly controllers: ReadonlyArray<Controller<R | Services>>
  /** What the controllers need beyond what the runtime provides; it may build on that. */
  readonly layer: Layer.Layer<R, E, Manager.Runtime>
  /** How it logs. */
  readonly logger: (settings: Logging.Settings) => Layer.Layer<never>
  /** How its metrics are written. */
  readonly metricsText: MetricsPage.Render
}

const bindAddress = (
  name: string,
  options: { readonly what: string; readonly port: number }
): Flag.Flag<BindAddress.BindAddress | undefined> =>
  Flag.parsed(name, {
    placeholder: "ADDRESS",
    description: `Where ${options.what}, 0 for nowhere; default :${options.port}`,
    parse: (text) => Either.map(BindAddress.parse(text), Option.getOrUndefined),
    otherwise: { hostname: undefined, port: options.port }
  })

const flagsOf = (names: ReadonlyArray<string>) => ({
  ...Flags.cluster,
  ...Flags.scope(names),
  workers: Flag.parsed("workers", {
    placeholder: "N",
    description: `Objects reconciled at a time, for all controllers or by name (${names[0]}=16); default the controller's own`,
    parse: (text) =>
      Either.filterOrLeft(
        Workers.parse(text),
        (workers) => typeof workers === "number" || Object.keys(workers).every((name) => names.includes(name)),
        () => Flags.unknownController(text, names)
      ),
    otherwise: undefined
  }),
  syncPeriod: Flag.duration("sync-period", {
    description: "Reconcile every object this often, even if nothing changed",
    otherwise: "10h",
    // Less would keep every worker busy with nothing.
    atLeast: "1s"
  }),
  gracePeriod: Flag.duration("graceful-shutdown-timeout", {
    description: "How long reconciles in progress may go on after SIGTERM before they are interrupted",
    otherwise: "30s"
  }),
  installCrds: Flags.installCrds,
  ...Election.flags,
  ...Election.timing,
  metricsAddress: bindAddress("metrics-bind-address", { what: "/metrics is served", port: 8080 }),
  probesAddress: bindAddress("health-probe-bind-address", { what: "/healthz and /readyz are served", port: 8081 }),
  ...Logging.flags
})

type Settings = Flag.Values<ReturnType<typeof flagsOf>>

/** Not ready while this goes on, which `/readyz` shows. */
const during = <A, E, R>(check: string, what: string, step: Effect.Effect<A, E, R>) =>
  Effect.flatMap(Health.Health, ({ readiness }) =>
    Effect.scoped(Effect.zipRight(readiness(check, Effect.fail(what)), step))
  )

/** The election among those who share the Lease; none without one. */
const electionOf = (lease: Permission.Settings["lease"], settings: Settings, instance: string) =>
  lease === undefined
    ? Either.right(undefined)
    : LeaderElection.make({ ...settings, ...lease, identity: LeaderElection.identityOf(instance) })

const start = <R, E>(program: Program<R, E>, settings: Settings) =>
  Effect.gen(function* () {
    const { addresses } = yield* Endpoints.Endpoints
    for (const [what, address] of Object.entries(addresses)) yield* Effect.logInfo(`Serves ${what} on ${address}`)
    const instance = process.env.HOSTNAME ?? hostname()
    const controllers = Flags.chosen(program.controllers, settings.controllers)
    const cluster = yield* during(
      "kubeconfig",
      "the cluster's settings are not read yet",
      KubeConfig.load({ ...settings.kubeconfig, context: settings.context })
    )
    const lease = yield* Election.leaseOf(program.name, settings, cluster.namespace)
    const leaderElection = yield* electionOf(lease, settings, instance)
    yield* Effect.logInfo(`${program.name} ${program.version} works on ${cluster.server}, from ${cluster.source}`)
    const services = Manager.layer({
      namespaces: settings.namespaces,
      instance,
      userAgent: `${program.name}/${program.version}`
    }).pipe(Layer.provide(Transport.layer(cluster)))
    const runtime = yield* Layer.build(services)
    yield* Effect.provide(MetricsPage.serve(program.metricsText), runtime)
    yield* during(
      "api-server",
      `${cluster.server} has not answered yet`,
      Effect.provide(FirstContact.make(cluster), runtime)
    )
    const all = yield* Layer.build(Layer.provideMerge(program.layer, Layer.succeedContext(runtime)))
    yield* Effect.gen(function* () {
      // In the background: what is missing is a warning, and those who need it wait for it by themselves.
      yield* Effect.forkScoped(Preflight.warn(Permission.all(controllers, { ...settings, lease })))
      if (settings.installCrds) {
        yield* during(
          "crds",
          "the CustomResourceDefinitions are not applied yet",
          Crds.install(Crd.kindsOf(controllers), settings.namespaces)
        )
      }
      const runners = yield* Manager.start(controllers, {
        workers: settings.workers,
        labelSelector: settings.selector,
        syncPeriod: settings.syncPeriod,
        gracePeriod: settings.gracePeriod,
        leaderElection
      })
      const plan = Connections.planOf(runners, settings.namespaces)
      const crowded = Connections.problem(plan, process.env.BUN_CONFIG_MAX_HTTP_REQUESTS)
      if (crowded !== undefined) yield* Effect.logWarning(crowded)
    }).pipe(Effect.mapInputContext((scope: Context.Context<Scope.Scope>) => Context.merge(all, scope)))
    return yield* Effect.never
  }).pipe(Effect.scoped)

/** The verb. */
export const verb = <R, E>(program: Program<R, E>) =>
  Verb.make("run", {
    description: "Run the controllers until SIGTERM or SIGINT; a second signal ends at once",
    flags: flagsOf(program.controllers.map(({ name }) => name)),
    run: (settings) => {
      const ports = Endpoints.layer({ metrics: settings.metricsAddress, probes: settings.probesAddress })
      return start(program, settings).pipe(
        Effect.provide(Layer.provideMerge(Health.layer, ports)),
        // Before anything is opened: it is a mistake on the command line.
        (started) => Effect.zipRight(Election.check(settings), started),
        Effect.onInterrupt(() => Effect.logInfo("Stopped")),
        Effect.provide(program.logger(Logging.settingsOf(settings)))
      )
    }
  })
