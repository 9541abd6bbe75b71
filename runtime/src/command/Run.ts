/**
 * `run`: runs the controllers until a signal.
 *
 * The ports open first, so that probes get an answer at once. `/readyz` names the pending step: the cluster's settings, the CRDs (with
 * `--install-crds`), the first answer of the API server, the caches. The manager shuts down in its order, and the ports close last. A
 * signal ends every wait.
 */
import { hostname } from "node:os"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { FileSystem } from "effect/FileSystem"
import { identity } from "effect/Function"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import * as Cache from "../cache/Cache.ts"
import * as KubeConfig from "../client/KubeConfig.ts"
import * as Transport from "../client/Transport.ts"
import type { Controller } from "../controller/Controller.ts"
import * as BindAddress from "../manager/BindAddress.ts"
import * as Callers from "../manager/Callers.ts"
import * as Connections from "../manager/Connections.ts"
import * as Crds from "../manager/Crds.ts"
import * as Endpoints from "../manager/Endpoints.ts"
import * as FirstContact from "../manager/FirstContact.ts"
import * as Health from "../manager/Health.ts"
import * as LeaderElection from "../manager/LeaderElection.ts"
import * as Manager from "../manager/Manager.ts"
import * as MetricsPage from "../manager/MetricsPage.ts"
import * as Permissions from "../manager/Permissions.ts"
import * as Preflight from "../manager/Preflight.ts"
import type * as Simulation from "../plan/Simulation.ts"
import * as CustomResource from "../resource/CustomResource.ts"
import * as LogLevels from "../telemetry/LogLevels.ts"
import * as Metrics from "../telemetry/Metrics.ts"
import * as Call from "../webhook/Call.ts"
import * as Build from "./Build.ts"
import * as Election from "./Election.ts"
import * as Environment from "./Environment.ts"
import * as Flag from "./Flag.ts"
import * as Flags from "./Flags.ts"
import * as JitPolicy from "./JitPolicy.ts"
import * as Kinds from "./Kinds.ts"
import * as Logging from "./Logging.ts"
import * as LogLevelPage from "./LogLevelPage.ts"
import * as MetricsPort from "./MetricsPort.ts"
import * as Rbac from "./Rbac.ts"
import * as Recordings from "./Recordings.ts"
import * as Setting from "./Setting.ts"
import * as Tracing from "./Tracing.ts"
import * as Verb from "./Verb.ts"
import * as Verdict from "./Verdict.ts"
import * as Webhooks from "./Webhooks.ts"
import * as Workers from "./Workers.ts"

/** The parts of a program. */
export interface Program<R, E> extends Verb.Named, Build.Built, Webhooks.Program<R> {
  /** The controllers' services beyond those of the runtime; the layer may use the runtime's services. */
  readonly layer: Layer.Layer<R, E, Manager.Runtime>
  /** The services in a plan, in place of `layer`: those with effects outside of the cluster. Default: `layer`. */
  readonly plannedLayer?: Layer.Layer<R, E, Manager.Runtime> | undefined
  /**
   * Imports the API server in memory of the verb `plan`, such as the module `Simulation` of the testkit. Default: none, so the program does
   * not have the verb.
   */
  readonly simulation?: Simulation.Load | undefined
  /** The controllers' settings: `run --help` lists them, and `run` checks them first. Default: none. */
  readonly settings?: Setting.Settings | undefined
  /** The logging. */
  readonly logger: (settings: Logging.Settings) => Layer.Layer<never>
  /** The formats of the metrics page; the first is the default. */
  readonly metrics: MetricsPage.Formats
  /** The exporter of traces; the program is not traced without one. */
  readonly tracing?: Tracing.Export | undefined
  /** Verbs besides those of the runtime. Default: none. */
  readonly verbs?: ReadonlyArray<Verb.Verb<unknown, never>> | undefined
}

const bindAddress = (
  name: string,
  options: { readonly what: string; readonly port: number }
): Flag.Flag<BindAddress.BindAddress | undefined> =>
  Flag.parsed(name, {
    placeholder: "ADDRESS",
    description: `Address of ${options.what}, or 0 for none (default :${options.port})`,
    parse: (text) => Result.map(BindAddress.parse(text), Option.getOrUndefined),
    otherwise: { hostname: undefined, port: options.port }
  })

const flagsOf = (names: ReadonlyArray<string>) => ({
  ...Flags.cluster,
  ...Flags.scope(names),
  workers: Flag.parsed("workers", {
    placeholder: "N",
    description: `Concurrent reconciles, for all controllers or by name, such as ${names[0]}=16 (default the controller's own)`,
    parse: (text) =>
      Result.filterOrFail(
        Workers.parse(text),
        (workers) => typeof workers === "number" || Object.keys(workers).every((name) => names.includes(name)),
        () => Flags.unknownController(text, names)
      ),
    otherwise: undefined
  }),
  syncPeriod: Flag.duration("sync-period", {
    description: "Reconcile every object this often",
    otherwise: "10h",
    // A shorter period would keep all workers busy.
    atLeast: "1s"
  }),
  gracePeriod: Flag.duration("graceful-shutdown-timeout", {
    description: "Time for running reconciles after SIGTERM",
    otherwise: "30s"
  }),
  installCrds: Flags.installCrds,
  ...Election.flags,
  ...Election.timing,
  metricsAddress: bindAddress("metrics-bind-address", {
    what: "/metrics",
    port: BindAddress.usualPorts.metrics
  }),
  probesAddress: bindAddress("health-probe-bind-address", {
    what: "/healthz and /readyz",
    port: BindAddress.usualPorts.probes
  }),
  ...MetricsPort.flags,
  ...Webhooks.flags,
  ...Recordings.flags,
  cacheMemory: Flag.parsed("cache-memory", {
    placeholder: "SIZE",
    description: "Most memory of cached objects (default 3/8 of all)",
    parse: Recordings.bytesOf,
    otherwise: undefined
  }),
  opaqueTokens: Flag.toggle("opaque-tokens", {
    description: "Also review tokens that are not JSON Web Tokens"
  }),
  ...Logging.flags,
  ...Tracing.flags
})

type Settings = Flag.Values<ReturnType<typeof flagsOf>>

/** The manager is not ready while the effect runs, and `/readyz` names it. */
const during = <A, E, R>(check: string, what: string, step: Effect.Effect<A, E, R>) =>
  Effect.flatMap(Health.Health, ({ readiness }) =>
    Effect.scoped(
      Effect.andThen(
        readiness(check, () => what),
        step
      )
    )
  )

/** The election among the managers with this Lease; none without a Lease. */
const electionOf = (
  lease: Permissions.Settings["lease"],
  settings: Settings,
  instance: string,
  controllers: ReadonlyArray<Pick<Controller<unknown>, "name" | "leaderElected">>
) => {
  if (lease === undefined) return Result.succeed(undefined)
  const elected = controllers.filter(({ leaderElected }) => leaderElected).map(({ name }) => name)
  const scope = { controllers: elected, namespaces: settings.namespaces, selector: settings.selector }
  return LeaderElection.make({ ...settings, ...lease, identity: LeaderElection.identityOf(instance), scope })
}

/** The name of this replica: the pod's name, or the host's. */
const instanceOf = (environment: NodeJS.ProcessEnv): string => environment.HOSTNAME ?? hostname()

const start = <R, E>(
  program: Program<R, E>,
  settings: Settings,
  exporting: Tracing.Exporting | undefined,
  levels: LogLevels.Levels
) =>
  Effect.gen(function* () {
    const { addresses } = yield* Endpoints.Endpoints
    for (const [what, address] of Object.entries(addresses)) {
      const how = what === "metrics" && settings.metricsSecure ? ", over TLS, to tokens that may get /metrics" : ""
      yield* Effect.logInfo(`Serving ${what} on ${address}${how}`)
    }
    if (settings.installCrds) yield* Effect.forEach(Kinds.of(program), CustomResource.check, { discard: true })
    const instance = instanceOf(process.env)
    const controllers = Flags.chosen(program.controllers, settings.controllers)
    const cluster = yield* during(
      "kubeconfig",
      "the cluster's settings are not read yet",
      KubeConfig.load({ ...settings.kubeconfig, context: settings.context })
    )
    const lease = yield* Effect.fromResult(Election.leaseOf(program, settings, cluster.namespace))
    const leaderElection = yield* Effect.fromResult(electionOf(lease, settings, instance, controllers))
    yield* Effect.logInfo(
      `${program.name} ${program.version} connects to ${cluster.server} (from ${cluster.source})`
    ).pipe(Effect.annotateLogs(program.build === undefined ? {} : { commit: program.build.commit }))
    const metrics = yield* Metrics.Metrics
    // First, so that it ends after the services and the manager, and exports the spans of the shutdown.
    const observers = exporting && (yield* exporting)
    const contact = yield* FirstContact.make(cluster)
    const transport = yield* Transport.make(cluster)
    const services = yield* Manager.layer({
      contact,
      namespaces: settings.namespaces,
      cacheMemory: settings.cacheMemory,
      instance,
      metrics,
      userAgent: Build.userAgent(program)
    }).pipe(Layer.build, Effect.provideService(Transport.Transport, transport))
    const callers = yield* Effect.provide(Callers.make({ opaqueTokens: settings.opaqueTokens }), services)
    const runtime = Context.add(services, Callers.Callers, callers)
    const { guarded } = callers
    const guard = (page: Endpoints.Handler) => (settings.metricsSecure ? guarded(page, { loopback: false }) : page)
    yield* Effect.provide(MetricsPage.serve(program.metrics, guard), runtime)
    const names = controllers.map(({ name }) => name)
    yield* Effect.provide(LogLevelPage.serve(levels, names), runtime)
    const contacted = during("api-server", `${cluster.server} has not answered yet`, contact.made)
    const all = Context.merge(runtime, yield* Effect.provide(Layer.build(program.layer), runtime))
    yield* Effect.gen(function* () {
      yield* Effect.forkScoped(contact.probe)
      const admissions = settings.webhooks ? Webhooks.admissionsOf(program) : undefined
      const webhooks =
        admissions === undefined
          ? undefined
          : yield* Effect.promise(() => import("./ServedWebhooks.ts")).pipe(
              Effect.flatMap(({ start }) => start(program, settings, Webhooks.namespaceOf(cluster))),
              // After the exporter, which marks the exported traces.
              Call.observedBy(admissions.record),
              Tracing.traced(observers, settings)
            )
      if (settings.installCrds) {
        yield* Effect.andThen(contact.ask, contacted)
        yield* during(
          "crds",
          "the CustomResourceDefinitions are not applied yet",
          Effect.flatMap(webhooks?.conversion ?? Effect.sync(() => undefined), (conversion) =>
            Crds.install(Kinds.of({ ...program, controllers }), {
              namespaces: settings.namespaces,
              program: program.name,
              conversion
            })
          )
        )
      }
      const runners = yield* Manager.start(controllers, {
        workers: settings.workers,
        labelSelector: settings.selector,
        syncPeriod: settings.syncPeriod,
        gracePeriod: settings.gracePeriod,
        leaderElection,
        whileLeading: webhooks?.reconcile,
        admissions,
        comparesCrds: program.name,
        recordings: { ...Recordings.boundsOf(settings), program: Build.userAgent(program) }
      }).pipe(Tracing.traced(observers, settings))
      yield* JitPolicy.atWork(
        runners.flatMap(({ informers }) => informers),
        () => JitPolicy.work(program)
      )
      const plan = Connections.planOf(runners, settings.namespaces)
      const crowded = Connections.problem(plan, process.env.BUN_CONFIG_MAX_HTTP_REQUESTS)
      if (crowded !== undefined) yield* Effect.logWarning(crowded)
      yield* contacted
      // After the caches, because both need the API server. A missing permission is a warning: its controller waits for it.
      yield* Cache.Cache.pipe(
        Effect.flatMap(({ synced }) => Effect.timeoutOption(synced, "5 seconds")),
        Effect.delay("1 second"),
        Effect.andThen(
          Effect.suspend(() =>
            Preflight.warn(
              Permissions.all(controllers, {
                ...settings,
                kinds: program.kinds,
                lease,
                webhookAccess: Webhooks.access(program, settings, Webhooks.namespaceOf(cluster))
              }),
              (missing) => Rbac.remedy(program, settings, missing)
            )
          )
        ),
        Effect.forkScoped
      )
    }).pipe(Effect.updateContext((own: Context.Context<Scope.Scope | FileSystem>) => Context.merge(all, own)))
    return yield* Effect.never
  }).pipe(Effect.scoped)

/** The exporter of traces, from the environment. */
const exportingOf = (
  { name, tracing, version }: Pick<Program<never, never>, "name" | "tracing" | "version">,
  environment: NodeJS.ProcessEnv
) =>
  tracing === undefined
    ? Result.succeed(undefined)
    : Result.mapError(
        tracing({ name, version, instance: instanceOf(environment), environment }),
        (message) => new Verb.UsageError({ message })
      )

/** The verb. */
export const verb = <R, E>(program: Program<R, E>) =>
  Verb.make("run", {
    description: "Run the controllers until SIGTERM or SIGINT; a second signal stops immediately",
    flags: flagsOf(program.controllers.map(({ name }) => name)),
    settings: program.settings,
    examples: [
      ["Run all controllers on the cluster of your kubeconfig.", "run --install-crds"],
      ["Run one replica of several, in a cluster.", "run --leader-elect --log-level=debug"]
    ],
    logsWarnings: true,
    untilSignal: true,
    run: (settings, _, deprecated) =>
      Effect.gen(function* () {
        const levels = yield* LogLevels.make(settings.logLevel)
        const logging = Logging.settingsOf(settings)
        const warned = Effect.forEach(deprecated, (warning) => Effect.logWarning(warning), { discard: true })
        const served = (exporting: Tracing.Exporting | undefined) =>
          Effect.gen(function* () {
            const endpoints = yield* Endpoints.make({
              metrics: settings.metricsAddress,
              probes: settings.probesAddress,
              metricsTls: yield* MetricsPort.certificatesOf(settings)
            })
            const health = yield* Effect.provideService(Health.make, Endpoints.Endpoints, endpoints)
            return yield* start(program, settings, exporting, levels).pipe(
              Effect.provideService(Endpoints.Endpoints, endpoints),
              Effect.provideService(Health.Health, health)
            )
          }).pipe(Effect.scoped)
        return yield* Effect.gen(function* () {
          // First, because the error is on the command line or in the environment.
          yield* Effect.fromResult(Election.check(program, settings))
          yield* Effect.fromResult(MetricsPort.check(settings))
          yield* Effect.fromResult(Webhooks.check(program, settings))
          yield* Effect.fromResult(Webhooks.addressed(program, settings, process.env))
          yield* warned
          yield* Environment.check(program.name, process.env)
          yield* Effect.mapError(
            Setting.read(program.settings ?? {}),
            ({ message }) => new Verb.UsageError({ message })
          )
          const exporting = yield* Effect.fromResult(exportingOf(program, process.env))
          yield* Environment.settle(program.name, process.env)
          return yield* served(exporting)
        }).pipe(
          Effect.onInterrupt(() => Effect.logInfo("Stopped")),
          logging.format === "json" ? Verdict.logged : identity,
          // Services that start before the manager use it too.
          Effect.provideService(Metrics.Metrics, Metrics.make()),
          (run) => LogLevels.provide(run, levels),
          Effect.provide(program.logger(logging))
        )
      }).pipe(Effect.scoped)
  })
