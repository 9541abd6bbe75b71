/**
 * Managers that elect a leader, side by side in the test's process, each with a line of its own to the API server that a test can cut;
 * and a controller that signs its writes, so that the server's history says which manager wrote what.
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
import { Effect, Exit, Layer, Logger, LogLevel, Random, Scope } from "effect"
import * as Managed from "../Managed.ts"

/** How a line is: `refused`: connections break and none is made; `silent`: nothing arrives at the other end. */
export type Condition = "up" | "refused" | "silent"

/** A manager. */
export interface Replica {
  readonly name: string
  readonly line: { condition: Condition }
  readonly runners: ReadonlyArray<Runner>
  readonly state: () => LeaderElection.State
  /** What its workers did so far. */
  readonly attempts: ReadonlyArray<Attempt.Attempt>
  /** Stops it as SIGTERM does. Its end is awaited. */
  readonly stop: Effect.Effect<void>
}

/** For tests in which a leadership must not end by itself, on a machine that stands still for a second either. */
export const steady = { leaseDuration: "6 seconds", renewDeadline: "4 seconds", retryPeriod: "400 millis" } as const

/** For tests that go on from whoever leads, in which it may. */
export const quick = { leaseDuration: "2 seconds", renewDeadline: "1300 millis", retryPeriod: "200 millis" } as const

/** A way to an API server, and the name of that in errors. */
export interface Network {
  readonly server: string
  readonly transport: Layer.Layer<Transport.Transport>
}

/** The network to a control plane. */
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

/** The labels of what is reconciled. */
export const labels = { ledger: "yes" }

/** Signs ConfigMaps, again and again. */
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
      /** Lets nothing through while the line is cut: neither what is to be sent nor what comes back. */
      const pass = (request: Request) =>
        Effect.suspend(() =>
          line.condition === "up" ? Effect.void : line.condition === "silent" ? Effect.never : refused(request)
        )
      return Transport.Transport.of({
        ...network,
        send: (request) =>
          Transport.abortable(
            request,
            pass(request).pipe(Effect.zipRight(network.send(request)), Effect.zipLeft(pass(request)))
          ),
        open: (request) =>
          Transport.abortable(request, pass(request)).pipe(
            Effect.zipRight(network.open(request)),
            Effect.map((streaming) => ({ ...streaming, next: Effect.zipLeft(streaming.next, pass(request)) }))
          )
      })
    })
  ).pipe(Layer.provide(transport))

/** Starts a manager that works on one namespace, and whose Lease is there too. It ends with the scope at the latest. */
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
    const { controller = signing(name), election: durations = steady, logLevel = LogLevel.None, ...settings } = options
    const line: Replica["line"] = { condition: "up" }
    const attempts: Array<Attempt.Attempt> = []
    const scope = yield* Effect.acquireRelease(Scope.make(), (scope) => Scope.close(scope, Exit.void))
    const election = yield* Effect.orDie(
      LeaderElection.make({ namespace, name: "homeostat", identity: name, ...durations })
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
    ).pipe(Scope.extend(scope), Logger.withMinimumLogLevel(logLevel))
    return { name, line, runners, attempts, state: election.state, stop: Scope.close(scope, Exit.void) }
  })

/** What a test of managers does, with a client for its own requests, whose line is never cut. */
export type Body<A, E> = (network: Network, namespace: string) => Effect.Effect<A, E, Scope.Scope | Client.Client>

/** A test in a namespace of its own, on the cluster of the lane. */
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

/** A test in virtual time, on a cluster in memory. */
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
        // Managers take time to stop, too.
        return time
          .during(Effect.scoped(test))
          .pipe(Effect.withRandom(Random.make(Seed.current())), time.within, Logger.withMinimumLogLevel(LogLevel.None))
      }),
    120_000
  )
