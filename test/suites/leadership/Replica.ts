/**
 * Managers in the test's process that elect a leader. Each has its own connection to the API server, which a test can cut. Their
 * controller signs its writes, so the history of the server shows which manager wrote what.
 */
import * as Client from "@homeostat/runtime/client/Client"
import * as Cluster from "@homeostat/runtime/client/Cluster"
import * as Disconnect from "@homeostat/runtime/client/Disconnect"
import * as Patch from "@homeostat/runtime/client/Patch"
import { infoOf, type Request } from "@homeostat/runtime/client/Request"
import * as Transport from "@homeostat/runtime/client/Transport"
import * as Attempt from "@homeostat/runtime/controller/Attempt"
import * as Controller from "@homeostat/runtime/controller/Controller"
import * as Result from "@homeostat/runtime/controller/Result"
import type { Runner } from "@homeostat/runtime/controller/Runner"
import * as LeaderElection from "@homeostat/runtime/manager/LeaderElection"
import * as Manager from "@homeostat/runtime/manager/Manager"
import { ConfigMap } from "@homeostat/runtime/resource/BuiltIn"
import * as EmbeddedCluster from "@homeostat/testkit/EmbeddedCluster"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import * as Envtest from "@homeostat/testkit/envtest/Envtest"
import * as Seed from "@homeostat/testkit/Seed.fixture"
import * as Shared from "@homeostat/testkit/Shared"
import { live } from "@homeostat/testkit/Test"
import * as VirtualTime from "@homeostat/testkit/VirtualTime"
import { Effect, Exit, Layer, type LogLevel, Random, References, Scope } from "effect"
import * as Managed from "../Managed.ts"

/**
 * The condition of a connection. `refused`: connections break, and new ones fail. `silent`: no data arrives at the other end.
 */
export type Condition = "up" | "refused" | "silent"

/** A manager that takes part in the election. */
export interface Replica {
  readonly name: string
  readonly line: { condition: Condition }
  readonly runners: ReadonlyArray<Runner>
  readonly state: () => LeaderElection.State
  /** The attempts of its workers so far. */
  readonly attempts: ReadonlyArray<Attempt.Attempt>
  /** Stops the manager as SIGTERM does, and waits for its end. */
  readonly stop: Effect.Effect<void>
}

/** Durations for tests in which the leader must not lose the Lease, even if the machine hangs for a second. */
export const steady = { leaseDuration: "6 seconds", renewDeadline: "4 seconds", retryPeriod: "400 millis" } as const

/** Durations for tests in which the leader may lose the Lease. */
export const quick = { leaseDuration: "2 seconds", renewDeadline: "1300 millis", retryPeriod: "200 millis" } as const

/** A transport to an API server, and the server's name in errors. */
export interface Network {
  readonly server: string
  readonly transport: Layer.Layer<Transport.Transport>
}

/** The transport to a control plane, as the administrator. */
export const networkOf = ({ admin }: ControlPlane): Network => ({
  server: admin.server,
  transport: Transport.layer(
    Cluster.make({
      server: admin.server,
      token: admin.token,
      tls: { ca: admin.ca, cert: admin.cert, key: admin.key }
    })
  )
})

/** The labels of the ConfigMaps that the managers reconcile. */
export const labels = { ledger: "yes" }

/** Writes its name and a random value to each ConfigMap every 25 ms. */
export const signing = (name: string) =>
  Controller.make("ledger", {
    for: ConfigMap,
    concurrency: 4,
    reconcile: ({ metadata }) =>
      Client.patch(ConfigMap, metadata, Patch.merge({ data: { writer: name, at: crypto.randomUUID() } })).pipe(
        Effect.as(Result.requeueAfter("25 millis"))
      )
  })

const over = ({ server, transport }: Network, line: Replica["line"]): Layer.Layer<Transport.Transport> =>
  Layer.effect(
    Transport.Transport,
    Effect.map(Transport.Transport, (network) => {
      const refused = (request: Request) => Effect.fail(Disconnect.make(infoOf(request), server, "ECONNREFUSED"))
      /** Blocks or rejects requests and responses while the connection is cut. */
      const pass = (request: Request) =>
        Effect.suspend(() =>
          line.condition === "up" ? Effect.void : line.condition === "silent" ? Effect.never : refused(request)
        )
      return Transport.Transport.of({
        ...network,
        send: (request) =>
          Transport.abortable(
            request,
            pass(request).pipe(Effect.andThen(network.send(request)), Effect.tap(pass(request)))
          ),
        open: (request) =>
          Transport.abortable(request, pass(request)).pipe(
            Effect.andThen(network.open(request)),
            Effect.map((streaming) => ({ ...streaming, next: Effect.tap(streaming.next, pass(request)) }))
          )
      })
    })
  ).pipe(Layer.provide(transport))

/**
 * Starts a manager for one namespace, which also has the Lease. The manager stops by `stop`, or when the Scope closes.
 */
export const start = (
  network: Network,
  namespace: string,
  name: string,
  options: Omit<Manager.Settings, "leaderElection"> & {
    readonly election?: Partial<LeaderElection.Settings>
    readonly controller?: Controller.Controller<Manager.Runtime>
    readonly logLevel?: LogLevel.LogLevel
  } = {}
): Effect.Effect<Replica, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { controller = signing(name), election: durations = steady, logLevel = "None", ...settings } = options
    const line: Replica["line"] = { condition: "up" }
    const attempts: Array<Attempt.Attempt> = []
    const scope = yield* Effect.acquireRelease(Scope.make(), (scope) => Scope.close(scope, Exit.void))
    const election = yield* Effect.orDie(
      Effect.fromResult(LeaderElection.make({ namespace, name: "homeostat", identity: name, ...durations }))
    )
    const services = Manager.layer({ namespaces: [namespace], instance: name }).pipe(Layer.provide(over(network, line)))
    const runners = yield* Effect.flatMap(Layer.build(services), (context) =>
      Manager.start([controller], {
        labelSelector: "ledger=yes",
        ...settings,
        leaderElection: election
      }).pipe(
        Effect.provideService(Attempt.Observers, [(attempt) => Effect.sync(() => void attempts.push(attempt))]),
        Effect.provide(context)
      )
    ).pipe(Scope.provide(scope), Effect.provideService(References.MinimumLogLevel, logLevel))
    return { name, line, runners, attempts, state: election.state, stop: Scope.close(scope, Exit.void) }
  })

/** The body of a test. Its own client is never cut off. */
export type Body<A, E> = (network: Network, namespace: string) => Effect.Effect<A, E, Scope.Scope | Client.Client>

/** Declares a test in its own namespace, on the cluster of the lane. */
export const replicated = <A, E>(name: string, body: Body<A, E>): void =>
  Shared.cluster(
    name,
    (cluster) =>
      Effect.gen(function* () {
        const namespace = yield* cluster.namespace("leadership")
        return yield* Effect.provide(body(networkOf(cluster), namespace), yield* Managed.client(cluster))
      }),
    Envtest.everything
  )

/** Declares a test in virtual time, on an in-memory cluster. */
export const virtual = <A, E>(name: string, body: Body<A, E>): void =>
  live(
    name,
    () =>
      Effect.suspend(() => {
        const time = VirtualTime.make(Date.parse("2026-11-20T00:00:00Z"))
        const test = Effect.gen(function* () {
          const { client, transport } = yield* EmbeddedCluster.make({ controllers: [], kubelet: false, seed: 1 })
          const network = { server: "memory", transport }
          yield* Effect.provide(body(network, "default"), client)
        })
        // The clock must also run while the managers stop.
        return time
          .during(Effect.scoped(test))
          .pipe(Random.withSeed(Seed.current()), time.within, Effect.provideService(References.MinimumLogLevel, "None"))
      }),
    120_000
  )
