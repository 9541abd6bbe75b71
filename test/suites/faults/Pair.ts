/** Two managers in one leader election, each behind its own TCP proxy. */
import type * as Client from "@homeostat/runtime/client/Client"
import * as LeaderElection from "@homeostat/runtime/manager/LeaderElection"
import * as Crd from "@homeostat/runtime/resource/Crd"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import * as Shared from "@homeostat/testkit/Shared"
import * as TcpProxy from "@homeostat/testkit/TcpProxy"
import { controller } from "@homeostat/webapp"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect, type Scope } from "effect"
import * as Managed from "../Managed.ts"
import * as Counted from "../runtime/Counted.ts"
import { behind, converged, create, plane } from "./Wired.ts"

/** A manager that takes part in the election. */
export interface Replica {
  readonly name: string
  readonly proxy: TcpProxy.TcpProxy
  readonly manager: Counted.Counted
  readonly state: LeaderElection.LeaderElection["state"]
}

/** A quarter of the default durations of the Lease. */
const times = { leaseDuration: "4 seconds", renewDeadline: "2500 millis", retryPeriod: "500 millis" } as const

const replica = (cluster: ControlPlane, namespace: string, name: string) =>
  Effect.gen(function* () {
    const proxy = yield* TcpProxy.make({ port: Number(new URL(cluster.url).port) })
    const leaderElection = yield* Effect.fromResult(
      LeaderElection.make({ namespace, name: "homeostat", identity: name, ...times })
    )
    const manager = yield* Counted.start(behind(proxy, cluster.admin), [controller], {
      namespaces: [namespace],
      leaderElection
    })
    const made: Replica = { name, proxy, manager, state: leaderElection.state }
    return made
  })

/** The writes of the replica as leader, without Leases and Events. */
export const written = ({ manager }: Replica): ReadonlyArray<Counted.Exchange> =>
  manager.exchanges.filter(({ request }) => !/^GET |\/leases\b|\/events\b/.test(request))

/** Waits until the replica leads. Fails after `seconds`. */
export const leads = (one: Replica, seconds = 20) =>
  Managed.eventually(`that ${one.name} leads`, Effect.sync(one.state), ({ leading }) => leading, seconds * 1000)

interface Pair {
  readonly cluster: ControlPlane
  readonly namespace: string
  /** `first` leads when the test begins. */
  readonly first: Replica
  readonly second: Replica
  /** The number of samples, one every 5 ms, in which both replicas led. */
  readonly overlaps: () => number
}

const on =
  (test: typeof Shared.cluster) =>
  (name: string, body: (pair: Pair) => Effect.Effect<unknown, unknown, Scope.Scope | Client.Client>): void =>
    test(
      name,
      (cluster) =>
        Effect.gen(function* () {
          yield* cluster.install(Crd.of(WebApp))
          const namespace = yield* cluster.namespace("handover")
          const first = yield* replica(cluster, namespace, "first")
          yield* leads(first)
          const second = yield* replica(cluster, namespace, "second")
          let overlaps = 0
          yield* Effect.sync(() => {
            if (first.state().leading && second.state().leading) overlaps++
          }).pipe(Effect.andThen(Effect.sleep("5 millis")), Effect.forever, Effect.forkScoped)
          yield* create({ namespace }, "app", 5)
          yield* converged({ namespace })
          yield* body({ cluster, namespace, first, second, overlaps: () => overlaps })
        }).pipe((test) => Effect.flatMap(Managed.client(cluster), (client) => Effect.provide(test, client))),
      { ...plane, timeoutMillis: 180_000 }
    )

/** Declares a test with two managers, of which `first` leads. */
export const paired = on(Shared.cluster)

/** Declares the same test on a real control plane, for tests that kill the API server. */
export const real = on(Shared.real)
