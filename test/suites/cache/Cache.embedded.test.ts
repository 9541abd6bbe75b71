/** The cache on an API server: its own writes, errors and restarts. */
import { describe, expect } from "bun:test"
import * as Cache from "@homeostat/runtime/cache/Cache"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import { ConfigMap } from "@homeostat/runtime/resource/BuiltIn"
import type { KubernetesObject } from "@homeostat/runtime/resource/KubernetesObject"
import * as Resource from "@homeostat/runtime/resource/Resource"
import * as Shared from "@homeostat/testkit/Shared"
import { Effect, Option } from "effect"
import { open } from "../comparison/Schema.ts"
import { cacheOf, lines, recovers, until } from "./Caches.ts"

describe.concurrent("Reading own writes", () => {
  Shared.cluster(
    "full, metadata-only and selected caches contain every answered write at once and emit every event",
    (cluster) =>
      Effect.gen(function* () {
        const namespace = yield* cluster.namespace()
        yield* Effect.gen(function* () {
          const cache = yield* Cache.Cache
          const full = yield* Cache.informer(ConfigMap)
          const partial = yield* Cache.informer(Resource.metadataOnly(ConfigMap))
          const odd = yield* Cache.informer(ConfigMap, { select: { labels: "n=1" } })
          yield* cache.synced
          let received = 0
          full.subscribe((changes) => {
            received += changes.filter(({ initial }) => !initial).length
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
                }
                yield* Client.delete(ConfigMap, key)
                for (const { store } of [full, partial, odd]) expect(store.get(at)).toBeUndefined()
              }
            })
          const names = Array.from({ length: 16 }, (_, n) => `own-${n}`)
          yield* Effect.forEach(names, writer, { concurrency: "unbounded", discard: true })
          yield* until("all events", () => received === 16 * 3 * 6)
          // A selected watch learns from another event or a bookmark that it has passed the last writes.
          yield* Client.create(ConfigMap, { metadata: { namespace, name: "end", labels: { n: "1" } } })
          yield* until("nothing overlaid", () => cache.informers().every((informer) => informer.state().overlaid === 0))
          expect([...full.store.keys(namespace)].filter((key) => key.includes("own"))).toEqual([])
        }).pipe(Effect.provide(cacheOf(cluster.admin.kubeconfigPath, [namespace])))
      })
  )

  Shared.cluster("an object with a finalizer stays until its removal, and can then be created again", (cluster) =>
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
    versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: open } }]
  }
}

describe.concurrent("A kind that the cache cannot watch", () => {
  Shared.cluster("syncs once its CRD is installed, and again after the CRD was deleted and installed", (cluster) =>
    Effect.gen(function* () {
      const namespace = yield* cluster.namespace()
      yield* Effect.gen(function* () {
        const informer = yield* Cache.informer(Thing)
        const events: Array<string> = []
        informer.subscribe((changes) => events.push(...lines(changes)))
        const is = (status: Cache.InformerState["status"]) => until(status, () => informer.state().status === status)
        yield* is("missing")
        expect(informer.state().problem).toContain("install its CustomResourceDefinition")
        yield* cluster.install(crd)
        yield* is("synced")
        yield* Client.create(Thing, { metadata: { namespace, name: "a" } })
        yield* until("the event", () => events.length === 1)
        yield* cluster.request("DELETE", `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${crdName}`)
        yield* is("missing")
        yield* cluster.install(crd)
        yield* is("synced")
        yield* Client.create(Thing, { metadata: { namespace, name: "b" } })
        yield* until("the event", () => events.length === 3)
        expect(events).toEqual(["added a", "deleted a", "added b"])
        yield* cluster.request("DELETE", `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${crdName}`)
      }).pipe(Effect.provide(cacheOf(cluster.admin.kubeconfigPath, [namespace])))
    })
  )
})

describe.concurrent("A resourceVersion from which no watch can continue", () => {
  Shared.cluster("because it is in the future, as after a restored backup, causes a new list", (cluster) =>
    recovers(cluster, "99999999", "empty")
  )
})
