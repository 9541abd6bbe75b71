/** The cache without permissions, on a killed server, and with more objects than a page. */
import { describe, expect } from "bun:test"
import * as Cache from "@homeostat/runtime/cache/Cache"
import * as Client from "@homeostat/runtime/client/Client"
import { ConfigMap } from "@homeostat/runtime/resource/BuiltIn"
import { real } from "@homeostat/testkit/Shared"
import { Effect } from "effect"
import { cacheOf, recovers, until } from "./Caches.ts"

describe("A kind that the cache cannot watch", () => {
  real("names the missing permission, and recovers within seconds of the grant", (cluster) =>
    Effect.gen(function* () {
      const namespace = yield* cluster.namespace()
      const user = yield* cluster.addUser({ name: `reader-of-${namespace}` })
      yield* Effect.gen(function* () {
        const informer = yield* Cache.informer(ConfigMap)
        yield* until("failing", () => informer.state().status === "failing", 15_000)
        expect(informer.state().problem).toStartWith(
          `cannot list configmaps in namespace ${namespace}: requires permission to list and watch configmaps`
        )
        yield* cluster.kubectl(["create", "role", "r", "-n", namespace, "--verb=list,watch", "--resource=configmaps"])
        yield* cluster.kubectl(["create", "rolebinding", "r", "-n", namespace, "--role=r", `--user=${user.user}`])
        yield* until("synced", () => informer.state().status === "synced")
      }).pipe(Effect.provide(cacheOf(user.kubeconfigPath, [namespace])))
    })
  )
})

describe("A resourceVersion from which no watch can continue", () => {
  real(
    "because it expired causes a new list, and a killed server does not",
    (cluster) =>
      Effect.gen(function* () {
        const namespace = yield* cluster.namespace()
        const killed = Effect.gen(function* () {
          const informer = yield* Cache.informer(ConfigMap)
          yield* informer.synced
          // The watch follows the list. Its first event shows that the watch is open.
          const first = yield* Client.create(ConfigMap, { metadata: { namespace, generateName: "before-" } })
          yield* until("the first event", () => informer.state().overlaid === 0)
          expect(informer.store.get(`${namespace}/${first.metadata.name}`)).toBeDefined()
          const server = yield* cluster.process("kube-apiserver")
          yield* server.kill
          yield* until("failing", () => informer.state().status === "failing")
          yield* server.start
          yield* until("synced", () => informer.state().status === "synced")
          const { metadata } = yield* Client.create(ConfigMap, { metadata: { namespace, generateName: "after-" } })
          yield* until("the event", () => informer.state().overlaid === 0)
          expect(informer.store.get(`${namespace}/${metadata.name}`)).toBeDefined()
          return informer.state()
        }).pipe(Effect.provide(cacheOf(cluster.admin.kubeconfigPath, [namespace])))
        // A write of the server itself just before its end can expire the resourceVersion: then the test runs again.
        const state = yield* Effect.repeat(killed, { times: 2, until: ({ relists }) => relists === 0 })
        expect(state.relists).toBe(0)
        expect(state.reasons.broken).toBeGreaterThan(0)
        // A new server has no old revisions.
        yield* recovers(cluster, "1", "expired")
      }),
    // The test kills its server, so it does not share one.
    { audit: true, timeoutMillis: 240_000 }
  )
})

real(
  "the cache lists more objects than a page, and watches from there",
  (cluster) =>
    Effect.gen(function* () {
      const namespace = yield* cluster.namespace()
      yield* Effect.gen(function* () {
        const names = Array.from({ length: 1100 }, (_, n) => `n-${n}`)
        const create = (name: string) => Client.create(ConfigMap, { metadata: { namespace, name } })
        yield* Effect.forEach(names, create, { concurrency: 16, discard: true })
        const informer = yield* Cache.informer(ConfigMap)
        yield* informer.synced
        expect([...informer.store.keys(namespace)].length).toBeGreaterThanOrEqual(1100)
        expect(informer.store.get(`${namespace}/n-7`)).toMatchObject({ apiVersion: "v1", kind: "ConfigMap" })
        yield* Client.create(ConfigMap, { metadata: { namespace, name: "after" } })
        yield* until("the event", () => informer.state().overlaid === 0)
        expect(informer.state().relists).toBe(0)
      }).pipe(Effect.provide(cacheOf(cluster.admin.kubeconfigPath, [namespace])))
    }),
  { timeoutMillis: 120_000 }
)
