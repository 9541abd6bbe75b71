/**
 * The cache on a real API server: what its watches, errors and restarts look like from here.
 */
import { describe, expect } from "bun:test"
import { layer as fileSystem } from "@effect/platform-bun/BunFileSystem"
import * as Cache from "@homeostat/runtime/cache/Cache"
import * as Informer from "@homeostat/runtime/cache/Informer"
import * as OwnWrites from "@homeostat/runtime/cache/OwnWrites"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import { ConfigMap } from "@homeostat/runtime/resource/BuiltIn"
import type { KubernetesObject } from "@homeostat/runtime/resource/KubernetesObject"
import * as Resource from "@homeostat/runtime/resource/Resource"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import { real } from "@homeostat/testkit/envtest/Shared"
import { Clock, Effect, Layer, Option } from "effect"

const clientOf = (kubeconfig: string) =>
  Layer.orDie(Client.layerKubeConfig({ kubeconfig })).pipe(Layer.provide(fileSystem))

const cacheOf = (kubeconfig: string, namespaces: ReadonlyArray<string>) =>
  Cache.layer({ namespaces }).pipe(Layer.provideMerge(clientOf(kubeconfig)))

const until = (what: string, condition: () => boolean, millis = 40_000): Effect.Effect<void> =>
  Effect.gen(function* () {
    const start = yield* Clock.currentTimeMillis
    while (!condition()) {
      if ((yield* Clock.currentTimeMillis) - start > millis)
        return yield* Effect.dieMessage(`${what}: not in ${millis} ms`)
      yield* Effect.sleep("10 millis")
    }
  })

const lines = (changes: ReadonlyArray<Cache.Change>): ReadonlyArray<string> =>
  changes.map(({ initial, object, type }) => `${type} ${object.metadata.name}${initial ? " initial" : ""}`)

describe("reading own writes", () => {
  real(
    "every answered write is read at once, in full, metadata-only and selected caches, and every event is told",
    (cluster) =>
      Effect.gen(function* () {
        const namespace = yield* cluster.namespace()
        yield* Effect.gen(function* () {
          const cache = yield* Cache.Cache
          const full = yield* Cache.informer(ConfigMap)
          const partial = yield* Cache.informer(Resource.metadataOnly(ConfigMap))
          const odd = yield* Cache.informer(ConfigMap, { labelSelector: "n=1" })
          yield* cache.synced
          let told = 0
          full.subscribe((changes) => {
            told += changes.filter(({ initial }) => !initial).length
          })
          const writer = (name: string) =>
            Effect.gen(function* () {
              const key = { namespace, name }
              const at = `${namespace}/${name}`
              for (let round = 0; round < 3; round++) {
                yield* Client.create(ConfigMap, { metadata: key })
                for (let n = 0; n < 4; n++) {
                  const { metadata } = yield* Client.patch(
                    ConfigMap,
                    key,
                    Patch.merge({ metadata: { labels: { n: `${n % 2}` } } })
                  )
                  expect(Option.getOrThrow(yield* Cache.get(ConfigMap, key)).metadata).toMatchObject({
                    resourceVersion: metadata.resourceVersion,
                    labels: { n: `${n % 2}` }
                  })
                  expect(partial.store.get(at)?.metadata.resourceVersion).toBe(metadata.resourceVersion)
                  expect(odd.store.get(at) !== undefined).toBe(n % 2 === 1)
                  expect(cache.isOwn(metadata.uid, metadata.resourceVersion)).toBe(true)
                }
                yield* Client.delete(ConfigMap, key)
                for (const { store } of [full, partial, odd]) expect(store.get(at)).toBeUndefined()
              }
            })
          const names = Array.from({ length: 16 }, (_, n) => `own-${n}`)
          yield* Effect.forEach(names, writer, { concurrency: "unbounded", discard: true })
          yield* until("all events", () => told === 16 * 3 * 6)
          // Another object's event or a bookmark is what tells a selected watch that it is past the last writes.
          yield* Client.create(ConfigMap, { metadata: { namespace, name: "end", labels: { n: "1" } } })
          yield* until("nothing overlaid", () => cache.informers().every((informer) => informer.state().overlaid === 0))
          expect([...full.store.keys(namespace)].filter((key) => key.includes("own"))).toEqual([])
        }).pipe(Effect.provide(cacheOf(cluster.admin.kubeconfigPath, [namespace])))
      })
  )

  real("an object with a finalizer is there until the finalizer is taken off, and then may be made again", (cluster) =>
    Effect.gen(function* () {
      const namespace = yield* cluster.namespace()
      yield* Effect.gen(function* () {
        const informer = yield* Cache.informer(ConfigMap)
        yield* informer.synced
        for (let round = 0; round < 20; round++) {
          const key = { namespace, name: `finalized-${round}` }
          const read = Effect.map(Cache.get(ConfigMap, key), Option.getOrUndefined)
          yield* Client.create(ConfigMap, { metadata: { ...key, finalizers: ["example.com/f"] } })
          yield* Client.delete(ConfigMap, key)
          expect((yield* read)?.metadata.deletionTimestamp).toBeDefined()
          yield* Client.patch(ConfigMap, key, Patch.merge({ metadata: { finalizers: null } }))
          expect(yield* read).toBeUndefined()
          yield* Client.create(ConfigMap, { metadata: { ...key, labels: { again: "yes" } } })
          expect((yield* read)?.metadata.labels).toEqual({ again: "yes" })
        }
        yield* until("nothing overlaid", () => informer.state().overlaid === 0)
      }).pipe(Effect.provide(cacheOf(cluster.admin.kubeconfigPath, [namespace])))
    })
  )
})

const Thing = Resource.make<KubernetesObject>({
  group: "cache.example.com",
  version: "v1",
  kind: "Thing",
  plural: "things"
})
const crdName = "things.cache.example.com"
const crd = {
  metadata: { name: crdName },
  spec: {
    group: "cache.example.com",
    scope: "Namespaced",
    names: { plural: "things", singular: "thing", kind: "Thing", listKind: "ThingList" },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } }
      }
    ]
  }
}

describe("a kind that cannot be followed", () => {
  real("is waited for until its CRD is installed, and again when that was deleted", (cluster) =>
    Effect.gen(function* () {
      const namespace = yield* cluster.namespace()
      yield* Effect.gen(function* () {
        const informer = yield* Cache.informer(Thing)
        const told: Array<string> = []
        informer.subscribe((changes) => told.push(...lines(changes)))
        const is = (status: Cache.State["status"]) => until(status, () => informer.state().status === status)
        yield* is("missing")
        expect(informer.state().problem).toContain("install its CustomResourceDefinition")
        yield* cluster.install(crd)
        yield* is("synced")
        yield* Client.create(Thing, { metadata: { namespace, name: "a" } })
        yield* until("the event", () => told.length === 1)
        yield* cluster.request("DELETE", `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${crdName}`)
        yield* is("missing")
        yield* cluster.install(crd)
        yield* is("synced")
        yield* Client.create(Thing, { metadata: { namespace, name: "b" } })
        yield* until("the event", () => told.length === 3)
        expect(told).toEqual(["added a", "deleted a", "added b"])
        yield* cluster.request("DELETE", `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${crdName}`)
      }).pipe(Effect.provide(cacheOf(cluster.admin.kubeconfigPath, [namespace])))
    })
  )

  real("names the missing permission, and recovers within seconds of the grant", (cluster) =>
    Effect.gen(function* () {
      const namespace = yield* cluster.namespace()
      const user = yield* cluster.addUser({ name: `reader-of-${namespace}` })
      yield* Effect.gen(function* () {
        const informer = yield* Cache.informer(ConfigMap)
        yield* until("failing", () => informer.state().status === "failing", 15_000)
        expect(informer.state().problem).toStartWith(
          `cannot watch configmaps in namespace ${namespace}: it takes the verbs list and watch on configmaps`
        )
        yield* cluster.kubectl(["create", "role", "r", "-n", namespace, "--verb=list,watch", "--resource=configmaps"])
        yield* cluster.kubectl(["create", "rolebinding", "r", "-n", namespace, "--role=r", `--user=${user.user}`])
        yield* until("synced", () => informer.state().status === "synced")
      }).pipe(Effect.provide(cacheOf(user.kubeconfigPath, [namespace])))
    })
  )
})

/** An informer of ConfigMaps that goes on from another resourceVersion than it should, in watches of two seconds. */
const misled = (cluster: ControlPlane, namespace: string, resourceVersion: string) =>
  Effect.gen(function* () {
    const client = yield* Client.Client
    const misleading = { now: true }
    const handle = Informer.make({
      resource: ConfigMap,
      namespaces: [namespace],
      own: OwnWrites.make(),
      clock: yield* Effect.clock,
      source: () => ({
        page: (options) => client.page(ConfigMap, { ...options, namespace, retry: false }),
        watch: (options) =>
          client.watch(ConfigMap, {
            ...options,
            namespace,
            ...(misleading.now && {
              timeoutSeconds: 2,
              ...(options.resourceVersion !== undefined && { resourceVersion })
            })
          })
      })
    })
    yield* Effect.forkScoped(handle.run)
    return { misleading, informer: handle.informer, client }
  }).pipe(Effect.provide(clientOf(cluster.admin.kubeconfigPath)))

describe("a resourceVersion that cannot be gone on from", () => {
  const recovers = (cluster: ControlPlane, resourceVersion: string, reason: "expired" | "empty") =>
    Effect.gen(function* () {
      const namespace = yield* cluster.namespace()
      const { client, informer, misleading } = yield* misled(cluster, namespace, resourceVersion)
      yield* client.create(ConfigMap, { metadata: { namespace, name: "before" } })
      const told: Array<string> = []
      informer.subscribe((changes) => told.push(...lines(changes).filter((line) => !line.includes("kube-root-ca"))))
      yield* until("a new list", () => informer.state().reasons[reason] !== undefined, 40_000)
      misleading.now = false
      yield* client.create(ConfigMap, { metadata: { namespace, name: "after" } })
      yield* until("the event", () => told.includes("added after"), 40_000)
      // Listing anew tells nothing twice.
      expect(told.filter((line) => line.includes("before"))).toHaveLength(1)
    })

  real("because it is in the future, as after a restored backup, is given up for a new list", (cluster) =>
    recovers(cluster, "99999999", "empty")
  )

  real(
    "because it is too old is given up for a new list, and a killed server is gone on with where it was",
    (cluster) =>
      Effect.gen(function* () {
        const namespace = yield* cluster.namespace()
        const killed = Effect.gen(function* () {
          const informer = yield* Cache.informer(ConfigMap)
          yield* informer.synced
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
        // A write of the server's own just before its end, which nobody was told of, makes ours too old: then once more.
        const state = yield* Effect.repeat(killed, { times: 2, until: ({ relists }) => relists === 0 })
        expect(state.relists).toBe(0)
        expect(state.reasons.broken).toBeGreaterThan(0)
        // A server that has just started remembers nothing of what was before.
        yield* recovers(cluster, "1", "expired")
      }),
    // Its own: the server is killed.
    { audit: true, timeoutMillis: 240_000 }
  )
})

real(
  "a server without WatchList is listed in pages",
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
  { apiServerFlags: ["--feature-gates=WatchList=false"], timeoutMillis: 120_000 }
)
