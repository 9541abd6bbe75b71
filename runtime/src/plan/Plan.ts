/**
 * The writes that the controllers of a program would send to a cluster now.
 *
 * A plan runs the controllers themselves, over an API server in memory with copies of the objects of the cluster. So it goes several
 * steps deep: a later reconcile sees the writes of an earlier one. Other programs do nothing in a plan. No Job runs, and no pod starts.
 * The plan ends when no reconcile has anything more to do now. It does not wait for a `requeueAfter`, or for delays of a second or more.
 *
 * The API server of the cluster gets only reads. With `dryRuns` it also gets a dry run of the first write of each object.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as References from "effect/References"
import type * as Scope from "effect/Scope"
import type { ApiError } from "../client/ApiError.ts"
import * as Client from "../client/Client.ts"
import * as Transport from "../client/Transport.ts"
import { Observers } from "../controller/Attempt.ts"
import type { Controller } from "../controller/Controller.ts"
import { Outside } from "../controller/Outside.ts"
import * as Paused from "../controller/Paused.ts"
import type { Runner } from "../controller/Runner.ts"
import * as Manager from "../manager/Manager.ts"
import type * as CustomResource from "../resource/CustomResource.ts"
import { keyOf } from "../resource/KubernetesObject.ts"
import * as Time from "../resource/Time.ts"
import * as Secrecy from "../telemetry/Secrecy.ts"
import * as SecretValues from "../telemetry/SecretValues.ts"
import * as Definitions from "./Definitions.ts"
import * as Endings from "./Endings.ts"
import * as Fields from "./Fields.ts"
import * as Manifests from "./Manifests.ts"
import * as ReadOnly from "./ReadOnly.ts"
import * as Replica from "./Replica.ts"
import * as Rest from "./Rest.ts"
import * as ServedKinds from "./ServedKinds.ts"
import type { Simulation } from "./Simulation.ts"
import * as Snapshot from "./Snapshot.ts"
import type { ObjectName, Write } from "./Write.ts"

/** A controller in a plan. */
export interface Planned {
  readonly name: string
  readonly kind: string
  /** The number of objects that it reconciles; absent if the plan could not list them. */
  readonly objects?: number | undefined
  /** False if the plan lacks objects that `unknown` does not name: the controller could not start, or the time was over. */
  readonly complete: boolean
}

/** An object whose reconcile cannot continue until something changes. The plan is complete up to there. */
export interface Problem {
  readonly controller: string
  readonly object: ObjectName
  readonly message: string
}

/** A plan. */
export interface Plan {
  /** The URL of the API server. */
  readonly server: string
  /** When the plan began, as RFC 3339. */
  readonly at: string
  readonly controllers: ReadonlyArray<Planned>
  /** By controller and object, each in the order of the writes. */
  readonly writes: ReadonlyArray<Write>
  /** The parts that are not known. */
  readonly unknown: ReadonlyArray<Endings.Unknown>
  readonly problems: ReadonlyArray<Problem>
}

/** The settings of a plan. */
export interface Settings {
  /** An API server without objects. */
  readonly simulation: Simulation
  /** The namespaces to follow; none means all. */
  readonly namespaces?: ReadonlyArray<string> | undefined
  /** A label selector for the reconciled objects. */
  readonly labelSelector?: string | undefined
  /** The custom kinds of the program. */
  readonly kinds?: ReadonlyArray<CustomResource.Any> | undefined
  /** Whether the CRDs of the program are in place of those of the cluster. Default false. */
  readonly installCrds?: boolean | undefined
  /** Objects that are applied before the controllers start. The plan does not have them. */
  readonly manifests?: ReadonlyArray<Manifests.Manifest> | undefined
  /** The namespace of manifests without one. Default `default`. */
  readonly namespace?: string | undefined
  /** Whether dry runs in the cluster decide the first write of each object. Default false. */
  readonly dryRuns?: boolean | undefined
  /** The longest time for the reconciles. Default one minute. */
  readonly timeout?: Duration.Input | undefined
  readonly userAgent?: string | undefined
}

/** The order of a plan: by controller, namespace and name; the writes of an object stay in their order. */
const sorted = <A extends { readonly controller?: string | undefined; readonly object?: ObjectName | undefined }>(
  parts: ReadonlyArray<A>,
  controllers: ReadonlyArray<{ readonly name: string }>
): ReadonlyArray<A> => {
  const places = new Map(controllers.map(({ name }, index) => [name, index]))
  const placeOf = ({ controller = "" }: A): number => places.get(controller) ?? -1
  const keyOf = ({ object }: A): string => `${object?.namespace ?? ""}/${object?.name ?? ""}`
  return parts.toSorted(
    (one, other) =>
      placeOf(one) - placeOf(other) || (keyOf(one) < keyOf(other) ? -1 : keyOf(one) > keyOf(other) ? 1 : 0)
  )
}

/** A namespace that does not exist is an error: without one, a wrong name would look like an empty plan. */
const existing = (namespaces: ReadonlyArray<string>, snapshot: Snapshot.Snapshot, { find }: Simulation) =>
  Effect.forEach(
    namespaces,
    (name) =>
      Effect.filterOrFail(
        snapshot.copy(Snapshot.namespace(name)),
        // Without the permission to read it, the namespace may exist.
        (refused) => refused !== undefined || find(Snapshot.namespace(name), "", name) !== undefined,
        () => new Manifests.Rejected({ message: `namespaces ${JSON.stringify(name)} not found (check --namespace)` })
      ),
    { discard: true }
  )

/**
 * Plans for the cluster of the transport. Fails if the API server does not answer, or if a manifest is rejected.
 *
 * @param layer the services of the controllers, as in a program
 *
 * @internal
 */
export const make = <R, E>(
  controllers: ReadonlyArray<Controller<R | Manager.Runtime>>,
  layer: Layer.Layer<R, E, Manager.Runtime>,
  settings: Settings
): Effect.Effect<Plan, ApiError | E | Manifests.Rejected, Transport.Transport> =>
  Effect.gen(function* () {
    const { dryRuns = false, kinds = [], simulation } = settings
    const at = yield* Clock.currentTimeMillis
    const live = ReadOnly.of(yield* Transport.Transport, { dryRuns })
    const client = yield* Client.make({ userAgent: settings.userAgent }).pipe(
      Effect.provideService(Transport.Transport, live)
    )
    // An API server that does not answer is an error at once.
    yield* client.raw({ method: "GET", path: "/version", retry: true })
    const failure = yield* Deferred.make<never, ApiError>()
    const endings = Endings.make()
    const rest = Rest.make(endings)
    const writes: Array<Write> = []
    let isRecording = false
    const installs = settings.installCrds ?? false
    const own = Definitions.own(kinds)
    const secrets = SecretValues.make()
    const serve = yield* ServedKinds.make({ client, simulation, own, installs })
    const snapshot = yield* Snapshot.make(
      client,
      simulation,
      (target) => installs && own(target) !== undefined,
      secrets
    )
    const transport = yield* Replica.make({
      live,
      simulation,
      serve,
      snapshot,
      endings,
      dryRuns,
      secrets,
      wrote: (write) => void (isRecording && writes.push(write)),
      failed: (error) => Deferred.fail(failure, error)
    })
    const { manifests = [], namespace = "default", namespaces = [] } = settings
    yield* Manifests.apply(manifests, { client, kinds, serve, simulation, transport, namespace, namespaces }).pipe(
      // The cause, in place of a request without an answer.
      Effect.catch((error) =>
        Effect.flatMap(Deferred.poll(failure), (cause) => Option.getOrElse(cause, () => Effect.fail(error)))
      )
    )
    yield* existing(namespaces, snapshot, simulation)
    isRecording = true

    const planned = Effect.gen(function* () {
      const services = yield* Layer.build(
        Manager.layer({ namespaces, instance: "plan", userAgent: settings.userAgent })
      )
      const own = yield* Effect.provide(Layer.build(layer), services)
      const context = Context.merge(services, own)
      const runners = yield* Manager.start(controllers.map(hastened), {
        labelSelector: settings.labelSelector,
        syncPeriod: 0,
        gracePeriod: 0,
        recordings: { count: 0 }
      }).pipe(
        Effect.provideService(Observers, [rest.observe]),
        Effect.provideService(Outside, outside(endings)),
        // The services of the plan win over those of the caller, whose client writes.
        Effect.updateContext((caller: Context.Context<Scope.Scope>) => Context.merge(caller, context))
      )
      return yield* settled(runners, rest, Duration.fromInputUnsafe(settings.timeout ?? "1 minute"))
    }).pipe(Effect.provideService(Transport.Transport, transport))
    const { late, runners, unstarted, waiting } = yield* Effect.raceFirst(planned, Deferred.await(failure))
    for (const { controller, intake } of runners) {
      if (intake.failure === undefined) continue
      const message = Secrecy.masked(secrets.replaced(intake.failure, () => Secrecy.hidden))
      endings.end({ controller }, `a map of its triggers fails: ${message}`)
    }
    const isKnown = (reconcile: Endings.Reconcile) => endings.reasonOf(reconcile) === undefined
    const failures = rest.failures().filter(([reconcile]) => isKnown(reconcile))
    // A controller may copy a value of a Secret that another reconcile has read.
    const shown = (text: string): string => Secrecy.masked(secrets.replaced(text, () => Secrecy.hidden))
    const named = ([{ controller, ...reconcile }, { message }]: (typeof failures)[number]) => ({
      controller,
      object: Endings.objectOf({ controller, ...reconcile }),
      message: shown(message)
    })
    return {
      server: live.server,
      at: Time.seconds(at),
      controllers: controllers.map(({ name, resource }, index) => {
        const informer = runners[index]?.informers[0]
        return {
          name,
          kind: resource.kind,
          ...(informer?.state().synced === true && { objects: informer.store.size() }),
          complete: ![...unstarted, ...endings.all(), ...late].some(
            ({ controller, object }) => controller === name && object === undefined
          )
        }
      }),
      writes: sorted(writes, controllers).map((write) => ({
        ...write,
        fields: Fields.withoutSecrets(write.fields, secrets)
      })),
      unknown: sorted(
        [
          ...unstarted,
          ...endings.all().map(({ reason, ...rest }) => ({ ...rest, reason: shown(reason) })),
          ...failures
            .filter(([, { isFinal }]) => !isFinal)
            .map(named)
            .map(({ message, ...rest }) => ({ ...rest, reason: `the reconcile fails: ${message}` })),
          ...late,
          ...waiting
        ],
        controllers
      ),
      problems: sorted(
        [
          ...failures.filter(([, { isFinal }]) => isFinal).map(named),
          ...controllers.flatMap(({ name, resource }, index) => pausedOf(name, resource.kind, runners[index], shown))
        ],
        controllers
      )
    }
  }).pipe(Effect.scoped, Effect.provideService(References.MinimumLogLevel, "None"))

/** The paused objects of a controller. A plan has no writes for them. */
const pausedOf = (
  controller: string,
  kind: string,
  runner: Runner | undefined,
  shown: (text: string) => string
): ReadonlyArray<Problem> =>
  (runner?.informers[0]?.store.list() ?? []).flatMap((object) => {
    const why = Paused.reasonOf(object)
    return why === undefined
      ? []
      : [{ controller, object: { kind, ...keyOf(object) }, message: shown(Paused.describe("this object", why)) }]
  })

/** With short delays of its triggers. They only collect changes, which are close together in a plan. */
const hastened = <R>(controller: Controller<R>): Controller<R> => ({
  ...controller,
  triggers: controller.triggers.map((trigger) => ({
    ...trigger,
    delayMillis: Math.min(trigger.delayMillis, Rest.longestDelayMillis)
  }))
})

/** Ends the plan of a reconcile or a map at an effect outside of the cluster. */
const outside = (endings: Endings.Endings) => (what: string) =>
  Effect.contextWith((context: Context.Context<never>) => {
    const part = Replica.partOf(context)
    const reason = `a plan has no effect outside of the cluster: ${what}`
    if (part !== undefined) endings.end(part, reason)
    return Effect.die(new Error(reason))
  })

/** Waits until all controllers that can start are at rest. */
const settled = <R extends Runner>(runners: ReadonlyArray<R>, rest: Rest.Rest, timeout: Duration.Duration) =>
  Effect.gen(function* () {
    const reasons = yield* Effect.forEach(runners, rest.started, { concurrency: "unbounded" })
    const unstarted = runners.flatMap(
      ({ controller }, index): ReadonlyArray<Endings.Unknown> =>
        (reasons[index] ?? []).map((reason) => ({ controller, reason }))
    )
    const working = runners.filter((_, index) => reasons[index]?.length === 0)
    const reached = yield* Effect.timeoutOption(rest.reached(working), timeout)
    const late: ReadonlyArray<Endings.Unknown> = Option.isSome(reached)
      ? []
      : working.flatMap(({ controller, intake, queue }): ReadonlyArray<Endings.Unknown> => {
          const { processing, ready } = Option.getOrThrow(queue()).snapshot()
          const left = processing + ready
          const what = left === 0 ? "a map of its triggers is" : left === 1 ? "1 object is" : `${left} objects are`
          const reason = `${what} not at rest after ${Duration.format(timeout)}`
          return left === 0 && !intake.isMapping ? [] : [{ controller, reason }]
        })
    const waiting = (Option.isSome(reached) ? [] : rest.waiting()).map(
      ({ controller, ...reconcile }): Endings.Unknown => ({
        controller,
        object: Endings.objectOf({ controller, ...reconcile }),
        reason: `it is not at rest after ${Duration.format(timeout)}`
      })
    )
    return { runners, unstarted, late, waiting }
  })
