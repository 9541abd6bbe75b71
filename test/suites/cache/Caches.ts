/** Helpers of the cache tests. */
import { expect } from "bun:test"
import { layer as fileSystem } from "@effect/platform-node-shared/NodeFileSystem"
import * as Cache from "@homeostat/runtime/cache/Cache"
import * as Informer from "@homeostat/runtime/cache/Informer"
import * as Client from "@homeostat/runtime/client/Client"
import { ConfigMap } from "@homeostat/runtime/resource/BuiltIn"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import { Clock, Effect, Layer } from "effect"

const clientOf = (kubeconfig: string) =>
  Layer.orDie(Client.layerKubeConfig({ kubeconfig })).pipe(Layer.provide(fileSystem))

/** A client of the kubeconfig, and a cache of some namespaces. */
export const cacheOf = (kubeconfig: string, namespaces: ReadonlyArray<string>) =>
  Cache.layer({ namespaces }).pipe(Layer.provideMerge(clientOf(kubeconfig)))

/** Waits with a poll every 10 ms. */
export const until = (what: string, condition: () => boolean, millis = 40_000): Effect.Effect<void> =>
  Effect.gen(function* () {
    const start = yield* Clock.currentTimeMillis
    while (!condition()) {
      if ((yield* Clock.currentTimeMillis) - start > millis)
        return yield* Effect.die(new Error(`timed out after ${millis} ms: ${what}`))
      yield* Effect.sleep("10 millis")
    }
  })

/** One line of text for each change. */
export const lines = (changes: ReadonlyArray<Cache.Change>): ReadonlyArray<string> =>
  changes.map(({ initial, object, type }) => `${type} ${object.metadata.name}${initial ? " initial" : ""}`)

/** An informer of ConfigMaps that continues from a wrong resourceVersion, in watches of two seconds. */
const misled = (cluster: ControlPlane, namespace: string, resourceVersion: string) =>
  Effect.gen(function* () {
    const client = yield* Client.Client
    const misleading = { now: true }
    const handle = Informer.make({
      resource: ConfigMap,
      namespaces: [namespace],
      clock: yield* Clock.Clock,
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

/** A watch from a wrong resourceVersion causes a new list, which emits nothing twice. */
export const recovers = (cluster: ControlPlane, resourceVersion: string, reason: "expired" | "empty") =>
  Effect.gen(function* () {
    const namespace = yield* cluster.namespace()
    const { client, informer, misleading } = yield* misled(cluster, namespace, resourceVersion)
    yield* client.create(ConfigMap, { metadata: { namespace, name: "before" } })
    const events: Array<string> = []
    informer.subscribe((changes) => events.push(...lines(changes).filter((line) => !line.includes("kube-root-ca"))))
    yield* until("a new list", () => informer.state().reasons[reason] !== undefined, 40_000)
    misleading.now = false
    yield* client.create(ConfigMap, { metadata: { namespace, name: "after" } })
    yield* until("the event", () => events.includes("added after"), 40_000)
    expect(events.filter((line) => line.includes("before"))).toHaveLength(1)
  })
