/** Lost responses: a front breaks the stream (HTTP/2) or the connection (HTTP/1.1) after the API server has written the object. */
import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Cluster from "@homeostat/runtime/client/Cluster"
import * as Patch from "@homeostat/runtime/client/Patch"
import * as Transport from "@homeostat/runtime/client/Transport"
import { ConfigMap } from "@homeostat/runtime/resource/BuiltIn"
import * as Certificates from "@homeostat/testkit/envtest/Certificates"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import * as Envtest from "@homeostat/testkit/envtest/Envtest"
import * as Shared from "@homeostat/testkit/Shared"
import { type Context, Effect, Layer, References, type Scope } from "effect"
import * as Front from "./Front.ts"

interface Scene {
  readonly front: Front.Front
  readonly namespace: string
  /** Runs the effect and drops its first `lost` responses. */
  readonly losing: <A, E>(
    effect: Effect.Effect<A, E, Client.Client>,
    lost?: number,
    fate?: Front.Fate
  ) => Effect.Effect<A, E>
  /** Method and status of the requests since the last `losing`. */
  readonly sent: () => ReadonlyArray<string>
  /** The object, read without the front. */
  readonly stored: (name: string) => Effect.Effect<ConfigMap, unknown>
}

const clientOf = (
  cluster: Cluster.Cluster,
  protocol: "http2" | "http1.1"
): Effect.Effect<Context.Context<Client.Client>, never, Scope.Scope> =>
  Layer.build(Layer.provide(Client.layer(), Transport.layer(cluster, { protocol }))).pipe(
    Effect.provideService(References.MinimumLogLevel, "None")
  )

const adminOf = ({ admin }: ControlPlane) =>
  Cluster.make({ server: admin.server, token: admin.token, tls: { ca: admin.ca, cert: admin.cert, key: admin.key } })

const unknown = { _tag: "Transport", outcome: "unknown" }

for (const protocol of ["http2", "http1.1"] as const) {
  const lost = <A, E>(name: string, body: (scene: Scene) => Effect.Effect<A, E, Scope.Scope>) =>
    Shared.cluster(
      name,
      (cluster) =>
        Effect.gen(function* () {
          const authority = yield* Certificates.authority
          const front = yield* Front.start(cluster, yield* authority.server({ dns: [], ip: ["127.0.0.1"] }))
          const client = yield* clientOf(
            Cluster.make({ server: front.url, tls: { ca: authority.certificate } }),
            protocol
          )
          const direct = yield* clientOf(adminOf(cluster), "http2")
          const namespace = yield* cluster.namespace("lost")
          let from = 0
          const sent = () => front.passed().slice(from)
          const scene: Scene = {
            front,
            namespace,
            losing: (effect, count = 1, fate = "cut") =>
              Effect.suspend(() => {
                from = front.passed().length
                let left = count
                front.answers(() => (left-- > 0 ? fate : "pass"))
                return Effect.provide(effect, client)
              }),
            sent: () => sent().map(({ method, status }) => `${method} ${status}`),
            stored: (name) => Effect.provide(Client.get(ConfigMap, { namespace, name }), direct)
          }
          const result = yield* body(scene)
          expect(new Set(front.passed().map(({ http }) => http))).toEqual(
            new Set([protocol === "http2" ? "2.0" : "1.1"])
          )
          return result
        }),
      Envtest.everything
    )

  describe.concurrent(`A lost answer on ${protocol}`, () => {
    lost("to a create leaves the outcome unknown: the client does not repeat it, and the object exists once", (scene) =>
      Effect.gen(function* () {
        const { losing, namespace, sent, stored } = scene
        const object = { metadata: { namespace, name: "one" }, data: { a: "1" } }
        expect(yield* Effect.flip(losing(Client.create(ConfigMap, object)))).toMatchObject(unknown)
        expect(sent()).toEqual(["POST 201"])
        expect((yield* stored("one")).data).toEqual({ a: "1" })
        expect(yield* Effect.flip(losing(Client.create(ConfigMap, object), 0))).toMatchObject({ _tag: "AlreadyExists" })
      })
    )

    lost("to a create with generateName leaves one object", ({ losing, namespace, sent }) =>
      Effect.gen(function* () {
        const object = { metadata: { namespace, generateName: "made-" } }
        expect(yield* Effect.flip(losing(Client.create(ConfigMap, object)))).toMatchObject(unknown)
        expect(sent()).toEqual(["POST 201"])
        const { items } = yield* losing(Client.list(ConfigMap, { namespace }), 0)
        expect(items.filter(({ metadata }) => metadata.name.startsWith("made-"))).toHaveLength(1)
      })
    )

    lost(
      "to a patch leaves the outcome unknown: the client does not repeat it",
      ({ losing, namespace, sent, stored }) =>
        Effect.gen(function* () {
          const key = { namespace, name: "one" }
          yield* losing(Client.create(ConfigMap, { metadata: key }), 0)
          const change = Client.patch(ConfigMap, key, Patch.merge({ data: { a: "1" } }))
          expect(yield* Effect.flip(losing(change))).toMatchObject(unknown)
          expect(sent()).toEqual(["PATCH 200"])
          expect((yield* stored("one")).data).toEqual({ a: "1" })
        })
    )

    lost("to an apply makes the client repeat it, which changes nothing", ({ losing, namespace, sent, stored }) =>
      Effect.gen(function* () {
        const wanted = { metadata: { namespace, name: "one" }, data: { a: "1" } }
        const applied = yield* losing(Client.apply(ConfigMap, wanted, { fieldManager: "test" }), 2)
        expect(sent()).toEqual(["PATCH 201", "PATCH 200", "PATCH 200"])
        const { metadata } = yield* stored("one")
        expect(applied.metadata).toEqual(metadata)
        const again = yield* losing(Client.apply(ConfigMap, wanted, { fieldManager: "test" }), 1)
        expect(again.metadata.resourceVersion).toBe(metadata.resourceVersion)
      })
    )

    lost("to a delete makes the client repeat it, which finds no object", ({ losing, namespace, sent, stored }) =>
      Effect.gen(function* () {
        const key = { namespace, name: "one" }
        const { metadata } = yield* losing(Client.create(ConfigMap, { metadata: key }), 0)
        const end = Client.delete(ConfigMap, key, { uid: metadata.uid })
        expect(yield* Effect.flip(losing(end))).toMatchObject({ _tag: "NotFound" })
        expect(sent()).toEqual(["DELETE 200", "DELETE 404"])
        expect(yield* Effect.flip(stored("one"))).toMatchObject({ _tag: "NotFound" })
      })
    )

    lost("to a replace of one version makes the client repeat it, which conflicts with its own write", (scene) =>
      Effect.gen(function* () {
        const { losing, namespace, sent, stored } = scene
        const before = yield* losing(Client.create(ConfigMap, { metadata: { namespace, name: "one" } }), 0)
        const replaced = losing(Client.replace(ConfigMap, { ...before, data: { a: "1" } }))
        expect(yield* Effect.flip(replaced)).toMatchObject({ _tag: "Conflict" })
        expect(sent()).toEqual(["PUT 200", "PUT 409"])
        expect((yield* stored("one")).data).toEqual({ a: "1" })
      })
    )

    lost("to a read makes the client repeat it", ({ losing, namespace, sent }) =>
      Effect.gen(function* () {
        yield* losing(Client.list(ConfigMap, { namespace }), 2)
        expect(sent()).toEqual(["GET 200", "GET 200", "GET 200"])
      })
    )

    lost("that never comes leaves the outcome unknown when the request times out", ({ losing, namespace, sent }) =>
      Effect.gen(function* () {
        const object = { metadata: { namespace, name: "one" } }
        const slow = losing(Client.create(ConfigMap, object, { timeoutMillis: 5_000 }), 1, "silence")
        expect(yield* Effect.flip(slow)).toMatchObject({ ...unknown, code: "DEADLINE" })
        expect(sent()).toEqual(["POST 201"])
      })
    )

    lost("is not published as a write, and a repeated write is published once", ({ losing, namespace }) =>
      Effect.gen(function* () {
        const writes: Array<string> = []
        yield* losing(
          Effect.scoped(
            Effect.gen(function* () {
              yield* Client.onWrite(({ object, verb }) => writes.push(`${verb} ${object?.metadata.name}`))
              yield* Effect.ignore(Client.create(ConfigMap, { metadata: { namespace, name: "one" } }))
              yield* Client.apply(ConfigMap, { metadata: { namespace, name: "two" } }, { fieldManager: "test" })
            })
          ),
          2
        )
        expect(writes).toEqual(["apply two"])
      })
    )
  })
}
