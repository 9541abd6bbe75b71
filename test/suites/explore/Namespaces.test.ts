/** Tests of several users of a cluster, each with their own namespaces. */
import { expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Transport from "@homeostat/runtime/client/Transport"
import { ConfigMap, Namespace, ServiceAccount } from "@homeostat/runtime/resource/BuiltIn"
import * as EmbeddedCluster from "@homeostat/testkit/EmbeddedCluster"
import * as Namespaces from "@homeostat/testkit/explore/Namespaces"
import { effect } from "@homeostat/testkit/Test"
import { Effect, Layer } from "effect"

const key = { namespace: "shop", name: "settings" }

effect("users with the same names do not see each other", () =>
  Effect.gen(function* () {
    const cluster = yield* EmbeddedCluster.make({ controllers: [], kubelet: false })
    const userOf = (suffix: string) =>
      Client.layer().pipe(
        Layer.provide(
          Layer.effect(
            Transport.Transport,
            Effect.map(Transport.Transport, (next) => Namespaces.over(suffix, next))
          )
        ),
        Layer.provide(cluster.transport)
      )
    const create = (user: string) =>
      Effect.gen(function* () {
        const { metadata } = yield* Client.create(Namespace, { metadata: { name: "shop" } })
        expect(metadata.name).toBe("shop")
        const { resourceVersion } = yield* Client.page(ConfigMap, {})
        const watch = yield* Client.watch(ConfigMap, { resourceVersion })
        yield* Client.create(ConfigMap, { metadata: key, data: { user } })
        return watch
      })
    const [one, other] = [userOf("-one"), userOf("-other")]
    yield* Effect.provide(create("one"), one)
    const watch = yield* Effect.provide(create("other"), other)
    yield* Effect.provide(Client.create(ConfigMap, { metadata: { ...key, name: "more" } }), one)
    yield* Effect.provide(Client.create(ConfigMap, { metadata: { ...key, name: "last" } }), other)
    expect((yield* Effect.provide(Client.get(ConfigMap, key), one)).data).toEqual({ user: "one" })
    const { items } = yield* Effect.provide(Client.list(ConfigMap), other)
    expect(items.map(({ metadata }) => [metadata.namespace, metadata.name])).toEqual([
      ["shop", "last"],
      ["shop", "settings"]
    ])
    const spaces = yield* Effect.provide(Client.list(Namespace), other)
    expect(spaces.items.map(({ metadata }) => metadata.name)).toEqual(["shop"])
    const seen = JSON.stringify([yield* watch.next, yield* watch.next])
    expect(["settings", "last", "more", "-other"].map((text) => seen.includes(text))).toEqual([
      true,
      true,
      false,
      false
    ])
    const stored = yield* Effect.provide(Client.list(ConfigMap, { namespace: "shop-other" }), cluster.client)
    expect(stored.items.map(({ metadata }) => metadata.name)).toEqual(["last", "settings"])
    const error = yield* Effect.flip(
      Effect.provide(Client.get(ServiceAccount, { namespace: "shop", name: "none" }), other)
    )
    expect(error.message).not.toContain("-other")
  })
)
