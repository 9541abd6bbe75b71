/** Replicas of the program: one of them leads, and another takes over when the leader ends, stops or loses its connection. */
import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import { ConfigMap, Deployment, Event, Lease } from "@homeostat/runtime/resource/BuiltIn"
import * as Kubeconfig from "@homeostat/testkit/envtest/Kubeconfig"
import * as TcpProxy from "@homeostat/testkit/TcpProxy"
import { Effect } from "effect"
import * as Managed from "../Managed.ts"
import * as Endpoint from "./Endpoint.ts"
import * as Replica from "./Replica.ts"
import type * as Running from "./Running.ts"
import { createApp, replicasOf, replicated } from "./Scene.ts"

describe.concurrent("Two managers with --leader-elect", () => {
  replicated(
    "elect one leader by a Lease; the other one is ready, and ends at once after SIGTERM",
    (cluster, namespace) =>
      Effect.gen(function* () {
        const both = yield* Effect.replicateEffect(Replica.homeostat(cluster, { namespace }), 2, {
          concurrency: "unbounded"
        })
        yield* Managed.eventually(
          "that one leads",
          Effect.forEach(both, Replica.leads),
          (leading) => leading.filter((is) => is).length === 1
        )
        const leads = yield* Effect.forEach(both, Replica.leads)
        const [leader, standby] = leads[0] === true ? both : [...both].reverse()
        if (leader === undefined || standby === undefined) return yield* Effect.die(new Error("there are two"))
        yield* Replica.standingBy(standby)

        const { metadata, spec } = yield* Replica.leaseOf(namespace)
        expect(metadata.annotations).toEqual({
          "homeostat.dev/lease-scope": expect.stringContaining(`"namespaces":["${namespace}"]`)
        })
        expect(spec).toMatchObject({ leaseDurationSeconds: 15, leaseTransitions: 0 })
        expect(leader.stderr()).toContain(
          `Leading, with the Lease ${namespace}/${metadata.name}, as ${spec?.holderIdentity}`
        )
        expect(standby.stderr()).toContain(`Standing by: ${spec?.holderIdentity} holds the Lease`)

        yield* createApp(namespace)
        yield* Managed.eventually("the Deployment", replicasOf(namespace), (replicas) => replicas === 1)
        const reconciled = (replica: Running.Running) => Endpoint.metric(replica, "controller_runtime_reconcile_total")
        yield* Managed.eventually("that the leader has reconciled it", reconciled(leader), (count) => count > 0)
        expect(yield* reconciled(standby)).toBe(0)
        for (const replica of both) {
          expect(yield* Endpoint.get(replica, "/healthz")).toEqual({ status: 200, body: "ok\n" })
          expect((yield* Endpoint.get(replica, "/readyz?verbose")).body).toContain(
            "[+]cache-webapps.apps.kubedojo.io ok"
          )
        }

        yield* standby.signal("SIGTERM")
        expect((yield* standby.ended("10 seconds")).code).toBe(0)
        expect((yield* Replica.leaseOf(namespace)).spec?.holderIdentity).toBe(spec?.holderIdentity)
        expect(yield* Replica.leads(leader)).toBe(true)
      })
  )
})

/** Creates work for the fixture. The first replica that leads starts this work. */
const work = (namespace: string, data: { readonly [key: string]: string }) =>
  Client.create(ConfigMap, { metadata: { namespace, name: "work", labels: { suite: "slow" } }, data })

const writer = (namespace: string) =>
  Effect.map(
    Client.get(ConfigMap, { namespace, name: "work" }),
    ({ metadata }) => metadata.annotations?.["suite/written"]
  )

describe.concurrent("A leader with a reconcile in progress", () => {
  replicated(
    "finishes it after SIGTERM, not ready but leading beyond the duration of its Lease; then it records the end, releases the Lease, and exits with 0",
    (cluster, namespace) =>
      Effect.gen(function* () {
        yield* work(namespace, { millis: "5000" })
        const flags = Replica.short
        const leader = yield* Replica.slow(cluster, { namespace, flags })
        yield* leader.written(/"msg":"Begun"/)
        const standby = yield* Replica.slow(cluster, { namespace, flags })
        yield* Replica.standingBy(standby)
        const { metadata, spec } = yield* Replica.leaseOf(namespace)

        yield* leader.signal("SIGTERM")
        yield* leader.written(/finishes 1 reconciles/)
        const ready = yield* Endpoint.get(leader, "/readyz")
        expect(ready).toMatchObject({ status: 500, body: expect.stringContaining("[-]shutdown failed") })
        expect((yield* Endpoint.get(leader, "/healthz")).status).toBe(200)
        const end = yield* leader.ended("20 seconds")
        expect(end.code).toBe(0)
        expect(end.stderr).toContain(`Released the Lease ${namespace}/${metadata.name}`)
        expect(yield* writer(namespace)).toBe(String(leader.pid))

        yield* Replica.leading(standby)
        expect(standby.stderr()).not.toContain("Begun")
        expect((yield* Client.get(Lease, { namespace, name: metadata.name })).spec?.leaseTransitions).toBe(1)
        const { items } = yield* Client.list(Event, { namespace })
        expect(items.filter(({ reason }) => reason === "LeaderElection").map(({ note }) => note)).toEqual(
          expect.arrayContaining([`${spec?.holderIdentity} became leader`, `${spec?.holderIdentity} stopped leading`])
        )
      })
  )

  replicated(
    "that is suspended beyond the duration of its Lease writes nothing when it resumes, and stands by",
    (cluster, namespace) =>
      Effect.gen(function* () {
        // The reconcile is uninterruptible, so that only the expired Lease can prevent the write.
        yield* work(namespace, { millis: "1500", stubborn: "true" })
        const flags = Replica.short
        const first = yield* Replica.slow(cluster, { namespace, flags })
        yield* first.written(/"msg":"Begun"/)
        yield* first.signal("SIGSTOP")
        const second = yield* Replica.slow(cluster, { namespace, flags })
        yield* Replica.leading(second)
        yield* Managed.eventually("the second's write", writer(namespace), (pid) => pid === String(second.pid))
        const before = yield* Client.get(ConfigMap, { namespace, name: "work" })

        yield* first.signal("SIGCONT")
        yield* first.written(/No longer leading/)
        yield* first.written(/Standing by: /)
        expect(yield* Replica.leads(first)).toBe(false)
        yield* first.written(/"msg":"(Not written|Written)"/)
        const after = yield* Client.get(ConfigMap, { namespace, name: "work" })
        expect(after.metadata.resourceVersion).toBe(before.metadata.resourceVersion)
        expect(yield* Replica.leads(second)).toBe(true)

        yield* second.signal("SIGTERM")
        expect((yield* second.ended("15 seconds")).code).toBe(0)
        yield* Replica.leading(first)
      })
  )

  replicated(
    "whose requests are no longer answered ends after SIGTERM, soon after the grace period, with exit code 0",
    (cluster, namespace) =>
      Effect.gen(function* () {
        yield* work(namespace, { millis: "1000" })
        const proxy = yield* TcpProxy.make({ port: Number(new URL(cluster.url).port) })
        const kubeconfig = `${cluster.directory}/${namespace}.kubeconfig`
        const access = { ...cluster.admin, server: proxy.instead(cluster.admin.server) }
        yield* Effect.promise(() => Bun.write(kubeconfig, Kubeconfig.render(access)))
        const flags = ["--graceful-shutdown-timeout=1s"]
        const leader = yield* Replica.slow(cluster, { namespace, flags, kubeconfig })
        yield* leader.written(/"msg":"Begun"/)
        yield* proxy.blackhole
        yield* leader.written(/"msg":"Writes"/)
        yield* Managed.eventually(
          "that its write is on the way",
          Effect.sync(() => proxy.counted().held),
          (bytes) => bytes > 0
        )
        const startedAt = performance.now()
        yield* leader.signal("SIGTERM")
        const end = yield* leader.ended("15 seconds")
        expect(end.code).toBe(0)
        expect(end.stderr).toContain("interrupts 1 reconciles: the grace period is over")
        expect(end.stderr).toContain('"msg":"Not written"')
        const millis = performance.now() - startedAt
        process.stdout.write(`  from SIGTERM to the end, with a server that went silent: ${millis.toFixed()} ms\n`)
        expect(yield* writer(namespace)).toBeUndefined()
      })
  )
})

describe.concurrent("Managers with a --selector each", () => {
  replicated("lead in parallel, each with its own Lease and objects", (cluster, namespace) =>
    Effect.gen(function* () {
      const slices = ["a", "b"] as const
      const managers = yield* Effect.forEach(slices, (slice) =>
        Replica.homeostat(cluster, { namespace, lease: `slice-${slice}`, flags: [`--selector=slice=${slice}`] })
      )
      for (const slice of slices) yield* createApp(namespace, slice, { slice })
      yield* createApp(namespace, "none")
      yield* Effect.forEach(managers, Replica.leading)
      yield* Effect.forEach(slices, (slice) =>
        Managed.eventually(`the Deployment of ${slice}`, replicasOf(namespace, slice), (replicas) => replicas === 1)
      )
      const { items } = yield* Client.list(Lease, { namespace })
      expect(new Set(items.map(({ metadata }) => metadata.name)).size).toBe(2)
      expect(new Set(items.map(({ spec }) => spec?.holderIdentity)).size).toBe(2)
      expect((yield* Client.list(Deployment, { namespace })).items.map(({ metadata }) => metadata.name)).toEqual([
        "a",
        "b"
      ])

      // Each replica stops without an effect on the other one.
      const [first, second] = managers
      yield* first?.signal("SIGTERM") ?? Effect.void
      expect(first && (yield* first.ended("15 seconds")).code).toBe(0)
      expect(second && (yield* Replica.leads(second))).toBe(true)
    })
  )
})

describe.concurrent("A manager with other --controllers than the holder of its Lease", () => {
  replicated("is not ready with the reason, and leads with its own Lease", (cluster, namespace) =>
    Effect.gen(function* () {
      const holder = yield* Replica.homeostat(cluster, { namespace, flags: ["--controllers=webapp"] })
      yield* Replica.leading(holder)
      const flags = ["--controllers=backup"]
      const refused = yield* Replica.homeostat(cluster, { namespace, flags })
      const sentence = `The Lease ${namespace}/homeostat is for controller webapp in namespace ${namespace}, and this manager runs controller backup in namespace ${namespace}: `
      yield* refused.written(/The Lease .* is for controller webapp/)
      const ready = yield* Managed.eventually(
        "that only the Lease is in the way",
        Endpoint.get(refused, "/readyz"),
        ({ body }) => body.split("\n").filter((line) => line.startsWith("[-]")).length === 1
      )
      expect(ready).toMatchObject({
        status: 500,
        body: expect.stringContaining(`[-]leader-election failed: ${sentence}`)
      })

      const other = yield* Replica.homeostat(cluster, { namespace, lease: "backup", flags })
      yield* Replica.leading(other)
      expect(yield* Replica.leads(holder)).toBe(true)
      expect(yield* Replica.leads(refused)).toBe(false)
    })
  )
})
