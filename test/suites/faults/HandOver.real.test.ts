/** Who leads while the network or the API server fails: two managers, each behind a wire of its own. */
import { describe, expect } from "bun:test"
import type * as Client from "@homeostat/runtime/client/Client"
import * as LeaderElection from "@homeostat/runtime/manager/LeaderElection"
import * as Crd from "@homeostat/runtime/resource/Crd"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import * as Shared from "@homeostat/testkit/envtest/Shared"
import * as TcpProxy from "@homeostat/testkit/TcpProxy"
import { controller } from "@homeostat/webapp"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect, type Scope } from "effect"
import * as Managed from "../Managed.ts"
import * as Counted from "../runtime/Counted.ts"
import { behind, converged, create, plane, want } from "./Wired.ts"

/** One of two, in an election. */
interface Replica {
  readonly name: string
  readonly proxy: TcpProxy.TcpProxy
  readonly manager: Counted.Counted
  readonly state: LeaderElection.LeaderElection["state"]
}

/** A Lease as by default, in a quarter of the time. */
const times = { leaseDuration: "4 seconds", renewDeadline: "2500 millis", retryPeriod: "500 millis" } as const

const replica = (cluster: ControlPlane, namespace: string, name: string) =>
  Effect.gen(function* () {
    const proxy = yield* TcpProxy.make({ port: Number(new URL(cluster.url).port) })
    const leaderElection = yield* LeaderElection.make({ namespace, name: "homeostat", identity: name, ...times })
    const manager = yield* Counted.start(behind(proxy, cluster.admin), [controller], {
      namespaces: [namespace],
      leaderElection
    })
    const made: Replica = { name, proxy, manager, state: leaderElection.state }
    return made
  })

/** What it sent as the leader: every write but those that are the election's. */
const written = ({ manager }: Replica): ReadonlyArray<Counted.Exchange> =>
  manager.exchanges.filter(({ request }) => !/^GET |\/leases\b|\/events\b/.test(request))

/** Waits until just this one leads. */
const leads = (one: Replica, seconds = 20) =>
  Managed.eventually(`that ${one.name} leads`, Effect.sync(one.state), ({ leading }) => leading, seconds * 1000)

const test = (
  name: string,
  body: (place: {
    readonly cluster: ControlPlane
    readonly namespace: string
    /** The leader, and the other one. */
    readonly first: Replica
    readonly second: Replica
    /** How often both led at a moment. */
    readonly overlaps: () => number
  }) => Effect.Effect<unknown, unknown, Scope.Scope | Client.Client>
): void =>
  Shared.real(
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
        }).pipe(Effect.zipRight(Effect.sleep("5 millis")), Effect.forever, Effect.forkScoped)
        yield* create({ namespace }, "app", 5)
        yield* converged({ namespace })
        yield* body({ cluster, namespace, first, second, overlaps: () => overlaps })
      }).pipe((test) => Effect.flatMap(Managed.client(cluster), (client) => Effect.provide(test, client))),
    { ...plane, timeoutMillis: 180_000 }
  )

describe("Of two managers", () => {
  test("the one whose wire swallows everything stops before the other starts, and stands by when it is mended", (place) =>
    Effect.gen(function* () {
      const { first, namespace, overlaps, second } = place
      let round = 0
      // Never without work: whoever leads writes.
      yield* Effect.suspend(() => want({ namespace, name: `app-${round % 5}` }, `registry.test/web:${++round}`)).pipe(
        Effect.zipRight(Effect.sleep("50 millis")),
        Effect.forever,
        Effect.forkScoped
      )
      yield* Effect.sleep("500 millis")
      expect(written(second)).toEqual([])
      yield* first.proxy.blackhole
      yield* leads(second)
      yield* Managed.eventually(
        "that it writes",
        Effect.sync(() => written(second)),
        ({ length }) => length > 10
      )
      const last = written(first).at(-1)?.at ?? Number.POSITIVE_INFINITY
      expect(last).toBeLessThan(written(second)[0]?.at ?? 0)
      expect(first.state().leading).toBe(false)

      const count = written(first).length
      yield* first.proxy.heal
      yield* Managed.eventually(
        "that it knows who leads",
        Effect.sync(first.state),
        ({ holder, leading }) => holder === "second" && !leading
      )
      yield* Effect.sleep("2 seconds")
      expect(written(first)).toHaveLength(count)
      expect([first.state(), second.state()]).toEqual([
        { leading: false, holder: "second" },
        { leading: true, holder: "second" }
      ])
      expect(overlaps()).toBe(0)
    }).pipe(Effect.scoped, Effect.zipRight(converged(place))))

  test("exactly one leads when the API server is back, and there never were two", (place) =>
    Effect.gen(function* () {
      const { cluster, first, namespace, overlaps, second } = place
      const server = yield* Effect.acquireRelease(cluster.process("kube-apiserver"), ({ start }) =>
        Effect.ignore(Effect.interruptible(start))
      )
      const sent = first.manager.requests.length + second.manager.requests.length
      yield* server.kill
      yield* Managed.eventually(
        "that nobody leads",
        Effect.sync(() => [first.state().leading, second.state().leading]),
        (leading) => !leading.includes(true)
      )
      yield* Effect.sleep("3 seconds")
      yield* server.start
      yield* Managed.eventually(
        "that one of them leads",
        Effect.sync(() => [first.state(), second.state()]),
        ([a, b]) => a?.leading !== b?.leading && a?.holder !== undefined && a.holder === b?.holder
      )
      yield* want({ namespace, name: "app-0" }, "registry.test/web:2")
      yield* converged(place)
      expect(overlaps()).toBe(0)
      expect([first, second].filter(({ state }) => state().leading)).toHaveLength(1)
      expect(first.manager.requests.length + second.manager.requests.length - sent).toBeLessThan(200)
    }))
})
