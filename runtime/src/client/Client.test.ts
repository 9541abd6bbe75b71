import { describe, expect } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Resource from "../resource/Resource.ts"
import type { ApiError } from "./ApiError.ts"
import * as Client from "./Client.ts"
import { FieldManager } from "./FieldManager.ts"
import * as Patch from "./Patch.ts"
import * as Scripted from "./Scripted.fixture.ts"
import { answer, ClusterRole, ConfigMap, configMap, Deployment, failure } from "./Scripted.fixture.ts"
import type { Write } from "./WriteBroadcaster.ts"

const key = { namespace: "a", name: "b" }

const on =
  (server: Scripted.Scripted) =>
  <A, E>(effect: Effect.Effect<A, E, Client.Client>): Effect.Effect<A, E> =>
    Effect.provide(effect, Scripted.client(server))

/** Runs against a server with one response for all requests. */
const against = <A, E>(reaction: Scripted.Reaction, effect: Effect.Effect<A, E, Client.Client>) =>
  Effect.flatMap(
    Scripted.make(() => reaction),
    (server) => on(server)(effect)
  )

describe("Client", () => {
  effect("returns the object of the server, decoded by its kind", () =>
    Effect.gen(function* () {
      const strict = Resource.make<Scripted.ConfigMap>({
        ...ConfigMap,
        decode: (wire) =>
          wire.metadata.name === "good"
            ? Result.succeed(wire)
            : Result.fail(new Resource.InvalidObject({ kind: "ConfigMap", key: "a/b", issues: [] }))
      })
      const read = (name: string) => against(answer(200, configMap(name)), Client.get(strict, key))
      expect(yield* read("good")).toEqual(configMap("good"))
      expect(yield* Effect.flip(read("bad"))).toMatchObject({ _tag: "InvalidObject" })
    })
  )

  effect("fails with the error of the server", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(against(failure(404, "NotFound"), Client.get(ConfigMap, key)))
      expect(error).toMatchObject({
        _tag: "NotFound",
        message: "GET /api/v1/namespaces/a/configmaps/b: because NotFound"
      })
    })
  )

  effect("reports a success that is not JSON as an error", () =>
    Effect.gen(function* () {
      for (const body of ["<html>", "7", ""]) {
        const error = yield* Effect.flip(against(answer(200, body), Client.get(ConfigMap, key)))
        expect(error.message).toEndWith("the answer is not the JSON of an object: is this a Kubernetes API server?")
      }
    })
  )

  effect("reports an answer of a proxy in place of an object or a list as an error", () =>
    Effect.gen(function* () {
      const requests: {
        readonly [what: string]: ReadonlyArray<Effect.Effect<unknown, ApiError | Resource.InvalidObject, Client.Client>>
      } = {
        "an object": [
          Client.get(ConfigMap, key),
          Client.create(ConfigMap, { metadata: key }),
          Client.patch(ConfigMap, key, Patch.merge({})),
          Client.scale.get(ConfigMap, key)
        ],
        "a list": [Client.page(ConfigMap), Client.list(ConfigMap)],
        "an object or a Status": [Client.delete(ConfigMap, key)]
      }
      for (const [what, all] of Object.entries(requests)) {
        for (const request of all) {
          const error = yield* Effect.flip(against(answer(200, '{"message":"maintenance"}'), request))
          expect(error._tag).toBe("ServerError")
          expect(error.message).toEndWith(`the answer is not the JSON of ${what}: is this a Kubernetes API server?`)
        }
      }
    })
  )

  effect("sends its user agent and the field manager", () =>
    Effect.gen(function* () {
      const server = yield* Scripted.make(() => answer(200, configMap("b")))
      const apply = Client.apply(ConfigMap, { metadata: key, data: {} })
      yield* on(server)(
        Effect.all([
          apply,
          Effect.provideService(apply, FieldManager, "webapp-controller"),
          Client.apply(ConfigMap, { metadata: key }, { fieldManager: "other" })
        ])
      )
      expect(
        server.requests.map(({ path }) => new URL(path, "https://server").searchParams.get("fieldManager"))
      ).toEqual(["homeostat", "webapp-controller", "other"])
      expect(server.requests[0]?.headers["user-agent"]).toBe("test/1")
    })
  )

  effect("does not send invalid requests", () =>
    Effect.gen(function* () {
      const server = yield* Scripted.make(() => answer(200, configMap("b")))
      const errors = yield* on(server)(
        Effect.all([
          Effect.flip(Client.get(ConfigMap, { name: "b" })),
          Effect.flip(Client.delete(ConfigMap, { namespace: "a", name: ".." })),
          Effect.flip(Client.deleteAll(ConfigMap, {}))
        ])
      )
      expect(errors.map((error) => error._tag)).toEqual(["BadRequest", "BadRequest", "BadRequest"])
      expect(server.requests).toEqual([])
    })
  )

  effect("logs each warning of the server once", () =>
    Effect.gen(function* () {
      const logged: Array<unknown> = []
      const logger = Logger.make(({ logLevel, message }) => logged.push([logLevel.toUpperCase(), message]))
      const warning = '299 - "apps/v1 \\"Foo\\" is deprecated", 299 - "unknown field"'
      const server = yield* Scripted.make((_, sent) =>
        sent === 1
          ? answer(200, configMap("b"), { warning })
          : { ...failure(404, "NotFound"), headers: new Headers({ warning }) }
      )
      yield* on(server)(Effect.zip(Client.get(ConfigMap, key), Effect.flip(Client.get(ConfigMap, key)))).pipe(
        Effect.provide(Logger.layer([logger]))
      )
      expect(logged).toEqual([
        ["WARN", ['API server: apps/v1 "Foo" is deprecated']],
        ["WARN", ["API server: unknown field"]]
      ])
    })
  )
})

describe("Client.list", () => {
  const item = (name: string) => {
    const { apiVersion, kind, ...rest } = configMap(name)
    return { ...rest, metadata: { ...rest.metadata, managedFields: [{ manager: "m" }] } }
  }
  const page = (names: ReadonlyArray<string>, metadata: object) =>
    answer(200, { kind: "ConfigMapList", apiVersion: "v1", metadata, items: names.map(item) })

  effect("follows the pages of one resourceVersion, 500 objects each", () =>
    Effect.gen(function* () {
      const server = yield* Scripted.make((_, sent) =>
        sent === 1
          ? page(["a", "b"], { resourceVersion: "9", continue: "next", remainingItemCount: 1 })
          : page(["c"], { resourceVersion: "9" })
      )
      const list = yield* on(server)(
        Client.list(ConfigMap, { namespace: "a", resourceVersion: "7", resourceVersionMatch: "NotOlderThan" })
      )
      expect(list.items.map((each) => each.metadata.name)).toEqual(["a", "b", "c"])
      expect(list.resourceVersion).toBe("9")
      expect(server.requests.map(({ path }) => path)).toEqual([
        "/api/v1/namespaces/a/configmaps?limit=500&resourceVersion=7&resourceVersionMatch=NotOlderThan",
        "/api/v1/namespaces/a/configmaps?limit=500&continue=next"
      ])
    })
  )

  effect("lists again, once and in pages, if the continue token has expired", () =>
    Effect.gen(function* () {
      const server = yield* Scripted.make((_, sent) =>
        sent === 1
          ? page(["a"], { resourceVersion: "9", continue: "next" })
          : sent === 2
            ? failure(410, "Expired")
            : page(["a", "b"], { resourceVersion: "10" })
      )
      const list = yield* on(server)(Client.list(ConfigMap))
      expect([list.items.length, list.resourceVersion]).toEqual([2, "10"])
      expect(server.requests[2]?.path).toBe("/api/v1/configmaps?limit=500")
      const expiring = yield* Scripted.make((request) =>
        request.path.includes("continue") ? failure(410, "Expired") : page(["a"], { continue: "next" })
      )
      expect(yield* Effect.flip(on(expiring)(Client.list(ConfigMap)))).toMatchObject({ _tag: "Expired" })
      expect(expiring.requests).toHaveLength(4)
    })
  )

  effect("with a limit returns one page with its continue token", () =>
    Effect.gen(function* () {
      const list = yield* against(
        page(["a"], { resourceVersion: "9", continue: "next", remainingItemCount: 4 }),
        Client.list(ConfigMap, { limit: 1 })
      )
      expect(list).toMatchObject({ continue: "next", remaining: 4 })
    })
  )

  effect("fills in the kind of the items, as a watch does", () =>
    Effect.gen(function* () {
      const listed = yield* against(page(["a"], {}), Client.list(ConfigMap))
      expect(listed.items[0]).toMatchObject({ apiVersion: "v1", kind: "ConfigMap" })
      const partial = yield* against(page(["a"], {}), Client.page(Resource.metadataOnly(ConfigMap)))
      expect(partial.items[0]).toMatchObject({ apiVersion: "meta.k8s.io/v1", kind: "PartialObjectMetadata" })
    })
  )

  effect("keeps managedFields, which a page for the cache omits", () =>
    Effect.gen(function* () {
      const paged = yield* against(page(["a"], {}), Client.page(ConfigMap))
      expect(paged.items[0]?.metadata.managedFields).toBeUndefined()
      const listed = yield* against(page(["a"], {}), Client.list(ConfigMap))
      expect(listed.items[0]?.metadata.managedFields).toHaveLength(1)
    })
  )

  effect("accepts an empty list", () =>
    Effect.gen(function* () {
      const list = yield* against(
        answer(200, { metadata: { resourceVersion: "9" }, items: null }),
        Client.list(ConfigMap)
      )
      expect(list).toEqual({ items: [], invalid: [], resourceVersion: "9" })
    })
  )
})

describe("Client.onWrite", () => {
  const stored = configMap("b")

  /** The writes that listeners get from an operation, before the writer continues. */
  const heard = <A, E>(reaction: Scripted.Reaction, operation: Effect.Effect<A, E, Client.Client>) =>
    against(
      reaction,
      Effect.gen(function* () {
        const writes: Array<Write> = []
        yield* Effect.scoped(
          Effect.gen(function* () {
            yield* Client.onWrite((write) => writes.push(write))
            yield* Effect.ignore(operation)
          })
        )
        const before = writes.length
        yield* Effect.ignore(operation)
        expect(writes.length).toBe(before)
        return writes.map(({ resource, ...write }) => ({ kind: resource.kind, ...write }))
      })
    )

  effect("reports each type of write with the answered object", () =>
    Effect.gen(function* () {
      const write = { kind: "ConfigMap", subresource: undefined, key, object: stored }
      const ok = answer(200, stored)
      expect(yield* heard(ok, Client.create(ConfigMap, { metadata: key }))).toEqual([{ ...write, verb: "create" }])
      expect(yield* heard(ok, Client.replace(ConfigMap, { metadata: key }))).toEqual([{ ...write, verb: "update" }])
      expect(yield* heard(ok, Client.patch(ConfigMap, key, Patch.merge({})))).toEqual([{ ...write, verb: "patch" }])
      expect(yield* heard(ok, Client.apply(ConfigMap, { metadata: key }))).toEqual([{ ...write, verb: "apply" }])
      expect(yield* heard(ok, Client.status.patch(ConfigMap, key, Patch.merge({})))).toEqual([
        { ...write, verb: "patch", subresource: "status" }
      ])
      expect(yield* heard(ok, Client.scale.patch(Deployment, key, Patch.merge({})))).toEqual([
        { ...write, kind: "Deployment", verb: "patch", subresource: "scale" }
      ])
    })
  )

  effect("reports the generated name, and no namespace for a cluster-scoped kind", () =>
    Effect.gen(function* () {
      const generated = yield* heard(
        answer(201, configMap("web-x7")),
        Client.create(ConfigMap, { metadata: { namespace: "a", generateName: "web-" } })
      )
      expect(generated[0]?.key).toEqual({ namespace: "a", name: "web-x7" })
      const { namespace, ...metadata } = stored.metadata
      const role = yield* heard(
        answer(200, { metadata }),
        Client.apply(ClusterRole, { metadata: { name: "b", namespace: "a" } })
      )
      expect(role[0]?.key).toEqual({ name: "b" })
    })
  )

  effect("reports a deletion, and whether the object still exists", () =>
    Effect.gen(function* () {
      const done = answer(200, { kind: "Status", status: "Success", details: { name: "b", uid: "uid-b" } })
      expect(yield* heard(done, Client.delete(ConfigMap, key))).toEqual([
        { kind: "ConfigMap", verb: "delete", key, object: undefined, uid: "uid-b" }
      ])
      expect(yield* heard(answer(200, stored), Client.delete(ConfigMap, key))).toMatchObject([
        { verb: "delete", object: stored }
      ])
    })
  )

  effect("reports no reads, dry runs and failed writes", () =>
    Effect.gen(function* () {
      const ok = answer(200, stored)
      expect(yield* heard(ok, Client.get(ConfigMap, key))).toEqual([])
      expect(yield* heard(ok, Client.apply(ConfigMap, { metadata: key }, { dryRun: true }))).toEqual([])
      expect(yield* heard(ok, Client.delete(ConfigMap, key, { dryRun: true }))).toEqual([])
      expect(yield* heard(failure(409, "Conflict"), Client.apply(ConfigMap, { metadata: key }))).toEqual([])
    })
  )

  effect("reports a write before the writer continues, even if the answer cannot be decoded", () =>
    Effect.gen(function* () {
      const strict = Resource.make<Scripted.ConfigMap>({
        ...ConfigMap,
        decode: () => Result.fail(new Resource.InvalidObject({ kind: "ConfigMap", key: "a/b", issues: [] }))
      })
      const order: Array<string> = []
      yield* against(
        answer(200, stored),
        Effect.scoped(
          Effect.gen(function* () {
            yield* Client.onWrite(() => order.push("published"))
            yield* Effect.flip(Client.patch(strict, key, Patch.merge({})))
            order.push("writer")
          })
        )
      )
      expect(order).toEqual(["published", "writer"])
    })
  )
})

describe("Client.delete", () => {
  const leaving = (metadata: object) => ({ ...configMap("b"), metadata: { ...configMap("b").metadata, ...metadata } })
  const deleted = (body: unknown) => against(answer(200, body), Client.delete(ConfigMap, key))

  effect("returns whether the object still exists", () =>
    Effect.gen(function* () {
      const at = { deletionTimestamp: "2026-11-20T00:00:00Z", deletionGracePeriodSeconds: 0 }
      expect(yield* deleted({ kind: "Status", status: "Success" })).toEqual(Option.none())
      // For a Service the response is its last state.
      expect(yield* deleted(configMap("b"))).toEqual(Option.none())
      expect(yield* deleted(leaving(at))).toEqual(Option.none())
      expect(Option.isSome(yield* deleted(leaving({ ...at, finalizers: ["x/y"] })))).toBe(true)
      expect(Option.isSome(yield* deleted(leaving({ ...at, deletionGracePeriodSeconds: 30 })))).toBe(true)
    })
  )
})

describe("Client.raw", () => {
  effect("returns the answer unchanged, and is not retried", () =>
    Effect.gen(function* () {
      expect(yield* against(answer(200, "ok"), Client.raw({ method: "GET", path: "/readyz" }))).toEqual({
        status: 200,
        body: "ok"
      })
      const server = yield* Scripted.make((request) => Scripted.disconnect(request, "ECONNREFUSED"))
      const error = yield* Effect.flip(on(server)(Client.raw({ method: "GET", path: "/readyz" })))
      expect(error).toMatchObject({ _tag: "Transport", outcome: "unsent" })
      expect(server.requests).toHaveLength(1)
    })
  )
})

describe("The types of the client", () => {
  effect("reject unknown fields", () => {
    const wrong = (client: typeof Client.Client.Service) => [
      // @ts-expect-error a ConfigMap has no field `dta`
      client.create(ConfigMap, { metadata: { name: "b" }, dta: {} }),
      // @ts-expect-error `data` has no numbers as values
      Client.apply(ConfigMap, { metadata: { name: "b" }, data: { a: 1 } })
    ]
    expect(wrong).toBeFunction()
    return Effect.void
  })
})
