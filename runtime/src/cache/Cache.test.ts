import { describe, expect } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Client from "../client/Client.ts"
import { capture } from "../controller/World.fixture.ts"
import type { KubernetesObject } from "../resource/KubernetesObject.ts"
import * as Resource from "../resource/Resource.ts"
import * as Cache from "./Cache.ts"
import * as Index from "./Index.ts"
import { owner } from "./Scripted.fixture.ts"
import { coordinates, label, lines, make, settle, WebApp, withServer } from "./Server.fixture.ts"

const names = (found: ReadonlyArray<KubernetesObject>) => found.map(({ metadata }) => metadata.name).sort()

const a = { namespace: "default", name: "a" }

describe("A read from the cache", () => {
  effect(
    "finds an own write at once, before and after its event",
    withServer([], (server) =>
      Effect.gen(function* () {
        const informer = yield* Cache.informer(WebApp)
        yield* informer.synced
        const heard: Array<string> = []
        informer.subscribe((changes) => heard.push(...lines(changes)))
        server.hold()
        yield* Client.create(WebApp, { metadata: a })
        yield* Client.patch(WebApp, a, label("x"))
        expect(Option.map(yield* Cache.get(WebApp, a), ({ metadata }) => metadata.labels)).toEqual(
          Option.some({ app: "x" })
        )
        expect((yield* Cache.list(WebApp, { labels: { app: "x" } })).items).toHaveLength(1)
        expect(informer.store.get("default/a")?.metadata).not.toHaveProperty("managedFields")
        expect(informer.state().overlaid).toBe(1)
        expect(heard).toEqual([])
        server.release()
        yield* settle
        expect(heard).toEqual(["added a", "updated a"])
        expect(informer.state().overlaid).toBe(0)
        server.hold()
        yield* Client.delete(WebApp, a)
        expect(Option.isNone(yield* Cache.get(WebApp, a))).toBe(true)
        server.release()
        yield* settle
        expect(heard.slice(2)).toEqual(["deleted a"])
        expect(informer.state().overlaid).toBe(0)
      })
    )
  )

  effect(
    "does not find an own write that leaves the label selector",
    withServer([], (server) =>
      Effect.gen(function* () {
        server.put({ name: "a", labels: { app: "x" } })
        const informer = yield* Cache.informer(WebApp, { select: { labels: "app=x" } })
        yield* informer.synced
        expect(Option.isSome(yield* Cache.get(WebApp, a))).toBe(true)
        server.hold()
        yield* Client.patch(WebApp, a, label("y"))
        expect(Option.isNone(yield* Cache.get(WebApp, a))).toBe(true)
        yield* Client.create(WebApp, { metadata: { namespace: "default", name: "b", labels: { app: "z" } } })
        expect(informer.store.size()).toBe(0)
        server.release()
        yield* settle
        expect(informer.store.size()).toBe(0)
        server.put({ name: "a", labels: { app: "x" } })
        yield* settle
        expect(informer.store.size()).toBe(1)
        expect(informer.state().overlaid).toBe(0)
      })
    )
  )

  effect(
    "of an undeclared kind dies with advice",
    withServer([], () =>
      Effect.gen(function* () {
        const exit = yield* Effect.exit(Cache.get(WebApp, a))
        expect(Exit.isFailure(exit) && Cause.pretty(exit.cause)).toContain(
          "webapps.apps.kubedojo.io (v1beta1, full) is not in the cache: declare it with owns or watches"
        )
      })
    )
  )

  effect(
    "of a kind with several label selectors combines their informers",
    withServer([], (server) =>
      Effect.gen(function* () {
        const byName = { name: "by-name", values: ({ metadata }: KubernetesObject) => [metadata.name] }
        yield* Cache.informer(WebApp, { select: { labels: "app=x" } })
        yield* Cache.informer(WebApp, { select: { labels: "tier=y" }, indexes: [byName] })
        server.put({ name: "a", labels: { app: "x" } })
        server.put({ name: "b", labels: { app: "x", tier: "y" } })
        yield* settle
        expect(names((yield* Cache.list(WebApp)).items)).toEqual(["a", "b"])
        expect(Option.map(yield* Cache.get(WebApp, a), ({ metadata }) => metadata.name)).toEqual(Option.some("a"))
        expect(names((yield* Cache.list(WebApp, { index: { name: "by-name", value: "b" } })).items)).toEqual(["b"])
        // An informer for all namespaces, without the index of the other informer.
        yield* Cache.informer(WebApp)
        yield* settle
        expect(names((yield* Cache.list(WebApp, { index: { name: "by-name", value: "b" } })).items)).toEqual(["b"])
        expect(names((yield* Cache.list(WebApp)).items)).toEqual(["a", "b"])
      })
    )
  )

  effect(
    "rejects two indexes with the same name and different functions, for any label selector",
    withServer([], () =>
      Effect.gen(function* () {
        const byName = { name: "one", values: ({ metadata }: KubernetesObject) => [metadata.name] }
        const byUid = { name: "one", values: ({ metadata }: KubernetesObject) => [metadata.uid] }
        yield* Cache.informer(WebApp, { select: { labels: "app=x" }, indexes: [byName, { ...byName }] })
        for (const labelSelector of ["app=x", "tier=y", undefined]) {
          const refused = yield* Effect.exit(
            Cache.informer(WebApp, { select: { labels: labelSelector }, indexes: [byUid] })
          )
          expect(refused).toEqual(
            Exit.die(new Index.Conflict({ message: 'two definitions of index "one" (share one, or rename one)' }))
          )
        }
        const owners = yield* Effect.exit(Cache.informer(WebApp, { indexes: [{ ...byName, name: Index.ownerName }] }))
        expect(Exit.isFailure(owners)).toBe(true)
        yield* Cache.informer(Resource.metadataOnly(WebApp), { indexes: [byUid] })
      })
    )
  )

  effect(
    "of an invalid object fails; lists report it separately, and log each version once",
    withServer([], (server) =>
      Effect.gen(function* () {
        const logged: Array<string> = []
        const here = Effect.provide(capture(logged))
        const Strict = Resource.make<KubernetesObject>({
          ...coordinates,
          decode: (wire) =>
            wire.metadata.name === "bad"
              ? Result.fail(new Resource.InvalidObject({ kind: "WebApp", key: "default/bad", issues: [] }))
              : Result.succeed(wire)
        })
        server.put({ name: "bad" })
        server.put({ name: "good" })
        yield* Effect.flatMap(Cache.informer(Strict), ({ synced }) => synced)
        const failure = yield* Effect.flip(Cache.get(Strict, { namespace: "default", name: "bad" }))
        expect(failure._tag).toBe("InvalidObject")
        const warning = "WARN left an object out of a list: WebApp default/bad does not match its schema: "
        expect(names((yield* here(Cache.list(Strict))).items)).toEqual(["good"])
        expect(logged).toEqual([warning])
        expect(names((yield* here(Cache.list(Strict))).items)).toEqual(["good"])
        for (const listed of [yield* here(Cache.list(Strict)), yield* here(Client.list(Strict))]) {
          expect([names(listed.items), listed.invalid]).toEqual([["good"], [failure as Resource.InvalidObject]])
        }
        expect(logged).toEqual([warning])
        server.put({ name: "bad" })
        yield* settle
        yield* here(Cache.list(Strict))
        expect(logged).toEqual([warning, warning])
      })
    )
  )

  effect(
    "of 1,100 invalid objects logs each once, also with several lists",
    withServer([], (server) =>
      Effect.gen(function* () {
        const logged: Array<string> = []
        const Strict = Resource.make<KubernetesObject>({
          ...coordinates,
          decode: ({ metadata: { name } }) =>
            Result.fail(new Resource.InvalidObject({ kind: "WebApp", key: `default/${name}`, issues: [] }))
        })
        for (let at = 0; at < 1100; at++) server.put({ name: `bad-${at}` })
        yield* Effect.flatMap(Cache.informer(Strict), ({ synced }) => synced)
        for (let list = 0; list < 3; list++) {
          expect((yield* Effect.provide(Cache.list(Strict), capture(logged))).invalid).toHaveLength(1100)
        }
        expect(logged).toHaveLength(1100)
      })
    )
  )

  effect(
    "finds objects by owner and by index",
    withServer([], (server) =>
      Effect.gen(function* () {
        const ownerReferences = [{ apiVersion: "v1", kind: "Owner", name: "o", uid: "owner-uid" }]
        yield* Effect.flatMap(
          Cache.informer(WebApp, {
            indexes: [{ name: "app", values: ({ metadata }) => Object.values(metadata.labels ?? {}) }]
          }),
          ({ synced }) => synced
        )
        yield* Client.create(WebApp, { metadata: { ...a, ownerReferences, labels: { app: "x" } } })
        server.put({ name: "b", labels: { app: "y" } })
        yield* settle
        expect((yield* Cache.byOwner(WebApp, owner("owner-uid"))).items.map(({ metadata }) => metadata.name)).toEqual([
          "a"
        ])
        expect(
          (yield* Cache.list(WebApp, { index: { name: "app", value: "y" } })).items.map(({ metadata }) => metadata.name)
        ).toEqual(["b"])
      })
    )
  )
})

effect("closing the cache closes its watches", () =>
  Effect.gen(function* () {
    const server = make()
    const client = Client.layer().pipe(Layer.provide(server.transport))
    yield* Effect.gen(function* () {
      yield* Effect.flatMap(Cache.informer(WebApp), ({ synced }) => synced)
      expect(server.watches()).toBe(1)
    }).pipe(Effect.provide(Cache.layer().pipe(Layer.provide(client))))
    expect(server.watches()).toBe(0)
  })
)
