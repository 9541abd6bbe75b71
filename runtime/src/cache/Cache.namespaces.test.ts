import { describe, expect } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/testing/TestClock"
import * as Client from "../client/Client.ts"
import * as Cluster from "../client/Cluster.fixture.ts"
import { ConfigMap, Namespace } from "../resource/BuiltIn.ts"
import * as Cache from "./Cache.ts"

describe("A read of a namespace outside of the cache", () => {
  effect("dies with advice, unlike a read of a cluster-scoped kind", () =>
    Effect.gen(function* () {
      const server = yield* Cluster.make()
      server.put(ConfigMap, { metadata: { name: "a", namespace: "one" } })
      server.put(ConfigMap, { metadata: { name: "a", namespace: "three" } })
      server.put(Namespace, { metadata: { name: "three" } })
      const services = yield* Layer.build(
        Cache.layer({ namespaces: ["one", "two"] }).pipe(
          Layer.provide(Client.layer({ userAgent: "test" })),
          Layer.provide(server.transport)
        )
      )
      yield* Effect.gen(function* () {
        const cache = yield* Cache.Cache
        yield* cache.informer(ConfigMap)
        yield* cache.informer(Namespace)
        yield* TestClock.adjust(0)
        const there = { namespace: "three", name: "a" }
        for (const read of [
          Effect.asVoid(Cache.get(ConfigMap, there)),
          Effect.asVoid(Cache.list(ConfigMap, { namespace: "three" }))
        ]) {
          expect(Cause.pretty(yield* Effect.sandbox(read).pipe(Effect.flip))).toContain(
            "namespace three is not in the cache: follow it with --namespace three, or read its configmaps with Client.get"
          )
        }
        expect((yield* Cache.list(ConfigMap, { namespace: "one" })).items).toHaveLength(1)
        expect((yield* Cache.list(ConfigMap, { namespace: "two" })).items).toHaveLength(0)
        expect((yield* Cache.get(Namespace, { name: "three" }))._tag).toBe("Some")
      }).pipe(Effect.provide(services))
    })
  )

  effect("dies without a namespace if the kind is namespaced", () =>
    Effect.gen(function* () {
      const server = yield* Cluster.make()
      const services = yield* Layer.build(
        Cache.layer().pipe(Layer.provide(Client.layer({ userAgent: "test" })), Layer.provide(server.transport))
      )
      yield* Effect.gen(function* () {
        yield* Cache.informer(ConfigMap)
        const cause = yield* Effect.flip(Effect.sandbox(Cache.get(ConfigMap, { name: "a" })))
        expect(Cause.pretty(cause)).toContain("namespace required: Cache.get of configmaps a (the kind is namespaced)")
      }).pipe(Effect.provide(services))
    })
  )
})
