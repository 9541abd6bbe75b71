/**
 * Runs a manager in the test's process, on the control plane of the test. Also provides a client for the test's own requests, and
 * functions that wait for a condition.
 */
import * as Client from "@homeostat/runtime/client/Client"
import * as Cluster from "@homeostat/runtime/client/Cluster"
import type { Request } from "@homeostat/runtime/client/Request"
import * as Transport from "@homeostat/runtime/client/Transport"
import * as Attempt from "@homeostat/runtime/controller/Attempt"
import type { Controller } from "@homeostat/runtime/controller/Controller"
import type { Runner } from "@homeostat/runtime/controller/Runner"
import * as EventRecorder from "@homeostat/runtime/events/EventRecorder"
import * as Manager from "@homeostat/runtime/manager/Manager"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import type { User } from "@homeostat/testkit/envtest/User"
import { Context, Effect, Layer, type LogLevel, References, type Scope } from "effect"

/** The settings of a test's manager. */
export interface Settings extends Manager.Settings {
  /**
   * The namespaces that the manager watches. A test names its own, so that the manager ignores the objects of other tests.
   */
  readonly namespaces: ReadonlyArray<string>
  /** The lowest level that the manager logs. Default: no logs. */
  readonly logLevel?: LogLevel.LogLevel | undefined
  /** The user of the manager. Default: the administrator. */
  readonly user?: User | undefined
}

/** A running manager. It stops when the Scope of `start` closes. */
export interface Managed {
  readonly runners: ReadonlyArray<Runner>
  /** The manager's own client. A write with this client counts as a write of the manager. */
  readonly client: Context.Context<Client.Client>
  /** All services of the manager, with the cache and the event recorder. */
  readonly services: Context.Context<Manager.Runtime>
  /** The attempts of its workers so far, oldest first. */
  readonly attempts: () => ReadonlyArray<Attempt.Attempt>
  /** The Events that it recorded so far, with repeats. The cluster shows repeats as a count, some seconds later. */
  readonly recorded: () => ReadonlyArray<EventRecorder.EventFields>
  /** The requests so far that the API server rejected because of a missing permission. */
  readonly refused: () => ReadonlyArray<string>
  /** The number of requests in progress, without watches. */
  readonly pending: () => number
}

/** The running managers of this process, by namespace. */
const running = new Map<string, ReadonlySet<Managed>>()

/** The running managers that watch a namespace. */
export const within = (namespace: string): ReadonlyArray<Managed> => [...(running.get(namespace) ?? [])]

const register = (managed: Managed, namespaces: ReadonlyArray<string>) => {
  const change = (make: (before: ReadonlySet<Managed>) => ReadonlySet<Managed>) =>
    Effect.sync(() => {
      for (const namespace of namespaces) running.set(namespace, make(running.get(namespace) ?? new Set()))
    })
  return Effect.acquireRelease(
    change((before) => new Set([...before, managed])),
    () => change((before) => before.difference(new Set([managed])))
  )
}

/** Starts controllers, and returns when their caches are synced and their workers run. */
export const start = (
  cluster: ControlPlane,
  controllers: ReadonlyArray<Controller<Manager.Runtime>>,
  { namespaces, logLevel = "None", user = cluster.admin, ...settings }: Settings
): Effect.Effect<Managed, never, Scope.Scope> =>
  Effect.gen(function* () {
    const refused: Array<string> = []
    const counter = { pending: 0 }
    const noting = Layer.provide(noteRequests(refused, counter), transport(user))
    const built = yield* Layer.build(Manager.layer({ namespaces, instance: "test" }).pipe(Layer.provide(noting)))
    const recorded: Array<EventRecorder.EventFields> = []
    const recorder = Context.get(built, EventRecorder.EventRecorder)
    const services = Context.add(built, EventRecorder.EventRecorder, {
      ...recorder,
      record: (entry) =>
        Effect.andThen(
          Effect.sync(() => void recorded.push(entry)),
          recorder.record(entry)
        )
    })
    const attempts: Array<Attempt.Attempt> = []
    const record: Attempt.Observer = (attempt) => Effect.sync(() => void attempts.push(attempt))
    const runners = yield* Manager.start(controllers, settings).pipe(
      Effect.provideService(Attempt.Observers, [record, Attempt.log]),
      Effect.provide(services)
    )
    yield* Effect.forEach(runners, ({ started }) => started, { discard: true })
    const managed: Managed = {
      runners,
      client: Context.pick(Client.Client)(services),
      services,
      attempts: () => attempts,
      recorded: () => recorded,
      refused: () => refused,
      pending: () => counter.pending
    }
    yield* register(managed, namespaces)
    return managed
  }).pipe(Effect.provideService(References.MinimumLogLevel, logLevel))

/** A client for the test's own reads and writes. It does not use the caches of a manager. */
export const client = (cluster: ControlPlane): Effect.Effect<Context.Context<Client.Client>, never, Scope.Scope> =>
  Layer.build(Client.layer().pipe(Layer.provide(transport(cluster.admin)))).pipe(
    Effect.provideService(References.MinimumLogLevel, "None")
  )

const transport = (user: User): Layer.Layer<Transport.Transport> =>
  Transport.layer(
    Cluster.make({
      server: user.server,
      token: user.token,
      tls: { ca: user.ca, cert: user.cert, key: user.key },
      source: "the test's control plane"
    })
  )

const noteRequests = (refused: Array<string>, counter: { pending: number }) =>
  Layer.effect(
    Transport.Transport,
    Effect.map(Transport.Transport, (next) => {
      const note = ({ method, path }: Request, status: number, body = "") => {
        // A terminating namespace also rejects writes with 403, which is not a missing permission.
        if (status === 403 && !body.includes("being terminated")) refused.push(`${method} ${path}`)
      }
      return {
        ...next,
        send: (request: Request) =>
          Effect.acquireUseRelease(
            Effect.sync(() => counter.pending++),
            () => Effect.tap(next.send(request), ({ body, status }) => Effect.sync(() => note(request, status, body))),
            () => Effect.sync(() => counter.pending--)
          ),
        open: (request: Request) =>
          Effect.tap(next.open(request), ({ status }) => Effect.sync(() => note(request, status)))
      }
    })
  )

export { eventually, NotSo, stays } from "@homeostat/testkit/Eventually"
