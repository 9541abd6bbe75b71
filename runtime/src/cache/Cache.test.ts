import { describe, expect } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import * as Client from "../client/Client.ts"
import * as Patch from "../client/Patch.ts"
import type { KubernetesObject } from "../resource/KubernetesObject.ts"
import * as Resource from "../resource/Resource.ts"
import * as Cache from "./Cache.ts"
import * as Server from "./Server.fixture.ts"

const coordinates = { group: "apps.kubedojo.io", version: "v1beta1", kind: "WebApp", plural: "webapps" }
const WebApp = Resource.make<KubernetesObject>(coordinates)
const Node = Resource.make({ group: "", version: "v1", kind: "Node", plural: "nodes", namespaced: false })

const a = { namespace: "default", name: "a" }
const label = (value: string) => Patch.merge({ metadata: { labels: { app: value } } })

/** Runs a test against a server, with a real client and a cache of these namespaces. */
const withServer =
  (
    namespaces: ReadonlyArray<string>,
    body: (server: Server.Server) => Effect.Effect<void, unknown, Cache.Cache | Client.Client>
  ) =>
  (): Effect.Effect<void, unknown> =>
    Effect.suspend(() => {
      const server = Server.make()
      const client = Client.layer().pipe(Layer.provide(server.transport))
      return body(server).pipe(
        Effect.provide(Cache.layer({ namespaces }).pipe(Layer.provideMerge(client))),
        // What the cache tells people is looked at in tests of its own.
        Effect.provide(Logger.remove(Logger.defaultLogger))
      )
    })

/** Lets everything that can happen now happen. */
const settle = TestClock.adjust("1 millis")

const versions = (changes: ReadonlyArray<Cache.Change>): ReadonlyArray<string> =>
  changes.map(
    ({ echo, initial, object, type }) =>
      `${type} ${object.metadata.name}${initial ? " initial" : ""}${echo ? " echo" : ""}`
  )

describe("an informer", () => {
  effect(
    "syncs, then tells of what happens, without managedFields",
    withServer([], (server) =>
      Effect.gen(function* () {
        server.put({ name: "a" })
        const informer = yield* Cache.informer(WebApp)
        const heard: Array<string> = []
        informer.subscribe((changes) => heard.push(...versions(changes)))
        expect(informer.state()).toMatchObject({ status: "syncing", synced: false })
        yield* informer.synced
        expect(heard).toEqual(["added a initial"])
        server.put({ name: "b" })
        server.put({ name: "b", labels: { app: "b" } })
        server.remove("default/a")
        yield* settle
        expect(heard.slice(1)).toEqual(["added b", "updated b", "deleted a"])
        expect(informer.store.get("default/b")?.metadata).not.toHaveProperty("managedFields")
        expect(informer.state()).toMatchObject({ status: "synced", synced: true, resourceVersion: "104", overlaid: 0 })
      })
    )
  )

  effect(
    "is one for each kind, selector and projection, however often it is asked for",
    withServer([], (server) =>
      Effect.gen(function* () {
        const one = yield* Cache.informer(WebApp)
        expect(yield* Cache.informer(WebApp, { indexes: [] })).toBe(one)
        expect(yield* Cache.informer(WebApp, { labelSelector: "app=a" })).not.toBe(one)
        expect(yield* Cache.informer(Resource.metadataOnly(WebApp))).not.toBe(one)
        const cache = yield* Cache.Cache
        yield* cache.synced
        expect(cache.informers()).toHaveLength(3)
        expect(server.watches()).toBe(3)
      })
    )
  )

  effect(
    "tells a late subscriber at once what is there, and nobody who has unsubscribed",
    withServer([], (server) =>
      Effect.gen(function* () {
        server.put({ name: "a" })
        const informer = yield* Cache.informer(WebApp)
        yield* informer.synced
        const heard: Array<string> = []
        const unsubscribe = informer.subscribe((changes) => heard.push(...versions(changes)))
        expect(heard).toEqual(["added a initial"])
        unsubscribe()
        server.put({ name: "b" })
        yield* settle
        expect(heard).toHaveLength(1)
      })
    )
  )

  effect(
    "goes on when a subscriber throws",
    withServer([], (server) =>
      Effect.gen(function* () {
        const informer = yield* Cache.informer(WebApp)
        yield* informer.synced
        const heard: Array<string> = []
        informer.subscribe(() => {
          throw new Error("a subscriber's mistake")
        })
        informer.subscribe((changes) => heard.push(...versions(changes)))
        server.put({ name: "a" })
        yield* settle
        server.put({ name: "b" })
        yield* settle
        expect(heard).toEqual(["added a", "added b"])
      })
    )
  )

  effect(
    "follows several namespaces with a watch each, into one store, and nothing else",
    withServer(["one", "two", "one"], (server) =>
      Effect.gen(function* () {
        for (const namespace of ["one", "two", "three"]) server.put({ name: "a", namespace })
        const informer = yield* Cache.informer(WebApp)
        yield* informer.synced
        server.put({ name: "b", namespace: "two" })
        server.put({ name: "b", namespace: "three" })
        yield* settle
        expect([...informer.store.keys()].sort()).toEqual(["one/a", "two/a", "two/b"])
        expect(server.watches()).toBe(2)
        // A write elsewhere is not laid over what is not followed.
        yield* Client.patch(WebApp, { namespace: "three", name: "a" }, label("x"))
        expect([...informer.store.keys("three")]).toEqual([])
        yield* Client.patch(WebApp, { namespace: "one", name: "a" }, label("x"))
        expect(informer.store.get("one/a")?.metadata.labels).toEqual({ app: "x" })
      })
    )
  )

  effect(
    "follows a cluster-scoped kind as a whole whatever the namespaces",
    withServer(["one", "two"], (server) =>
      Effect.gen(function* () {
        yield* Cache.informer(Node)
        yield* settle
        expect(server.requests).toEqual(["GET /api/v1/nodes initial"])
      })
    )
  )

  effect(
    "opens its watch again when it ends, without telling anything twice",
    withServer([], (server) =>
      Effect.gen(function* () {
        server.put({ name: "a" })
        const informer = yield* Cache.informer(WebApp)
        yield* informer.synced
        yield* TestClock.adjust("2 seconds")
        const heard: Array<string> = []
        informer.subscribe((changes) => heard.push(...versions(changes)))
        server.endWatches()
        yield* settle
        server.put({ name: "b" })
        yield* settle
        expect(heard).toEqual(["added a initial", "added b"])
        expect(informer.state()).toMatchObject({ restarts: 1, relists: 0, reasons: { ended: 1 } })
      })
    )
  )
})

/** The lines logged while an effect runs. */
const logged = () => {
  const lines: Array<string> = []
  return { lines, layer: Logger.add(Logger.make(({ message }) => void lines.push(String(message)))) }
}

describe("a kind that cannot be followed", () => {
  effect(
    "names itself and the missing permission, leaves others alone, and recovers within seconds of the grant",
    () => {
      const { layer, lines } = logged()
      return withServer(["one"], (server) =>
        Effect.gen(function* () {
          server.refuse = (path) => (path.includes("webapps") ? 403 : undefined)
          const informer = yield* Cache.informer(WebApp)
          const other = yield* Cache.informer(Node)
          yield* TestClock.adjust("2 seconds")
          expect((yield* Effect.either(Effect.timeout(other.synced, "1 millis")))._tag).toBe("Right")
          const expected =
            'cannot watch webapps.apps.kubedojo.io in namespace one: it takes the verbs list and watch on webapps of API group "apps.kubedojo.io" in namespace one'
          expect(informer.state()).toMatchObject({ status: "failing", synced: false })
          expect(informer.state().problem).toStartWith(expected)
          expect(lines.filter((line) => line.startsWith(expected))).toHaveLength(1)
          server.refuse = () => undefined
          yield* TestClock.adjust("5 seconds")
          expect(informer.state()).toMatchObject({ status: "synced", problem: undefined })
          expect(lines).toContain("webapps.apps.kubedojo.io: recovered")
        })
      )().pipe(Effect.provide(layer))
    }
  )

  effect(
    "is waited for when it is not served, and its objects are gone when that lasts",
    withServer([], (server) =>
      Effect.gen(function* () {
        server.put({ name: "a" })
        server.refuse = () => 404
        const informer = yield* Cache.informer(WebApp)
        const heard: Array<string> = []
        informer.subscribe((changes) => heard.push(...versions(changes)))
        yield* TestClock.adjust("10 seconds")
        expect(informer.state()).toMatchObject({ status: "missing", synced: false })
        expect(informer.state().problem).toContain(
          "the API server does not serve apps.kubedojo.io/v1beta1 WebApp; install its CustomResourceDefinition"
        )
        server.refuse = () => undefined
        yield* TestClock.adjust("8 seconds")
        expect(heard).toEqual(["added a initial"])
        server.refuse = () => 404
        server.endWatches()
        yield* TestClock.adjust("20 seconds")
        expect(heard.slice(1)).toEqual(["deleted a"])
        expect(informer.store.size()).toBe(0)
        expect(informer.state()).toMatchObject({ status: "missing", synced: true })
        server.refuse = () => undefined
        yield* TestClock.adjust("8 seconds")
        expect(heard.slice(2)).toEqual(["added a"])
        expect(informer.state().status).toBe("synced")
      })
    )
  )
})

describe("a read", () => {
  effect(
    "finds an own write at once, before and after its event",
    withServer([], (server) =>
      Effect.gen(function* () {
        const informer = yield* Cache.informer(WebApp)
        yield* informer.synced
        const heard: Array<string> = []
        informer.subscribe((changes) => heard.push(...versions(changes)))
        server.hold()
        yield* Client.create(WebApp, { metadata: a })
        yield* Client.patch(WebApp, a, label("x"))
        expect(Option.map(yield* Cache.get(WebApp, a), ({ metadata }) => metadata.labels)).toEqual(
          Option.some({ app: "x" })
        )
        expect(yield* Cache.list(WebApp, { labels: { app: "x" } })).toHaveLength(1)
        expect(informer.store.get("default/a")?.metadata).not.toHaveProperty("managedFields")
        expect(informer.state().overlaid).toBe(1)
        expect(heard).toEqual([])
        server.release()
        yield* settle
        expect(heard).toEqual(["added a echo", "updated a echo"])
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
    "can tell an own write from a foreign one once it was answered, even if its event came before",
    withServer([], (server) =>
      Effect.gen(function* () {
        server.put({ name: "a" })
        const informer = yield* Cache.informer(WebApp)
        yield* informer.synced
        const cache = yield* Cache.Cache
        const latest: Array<Cache.Change> = []
        informer.subscribe((changes) => latest.push(...changes))
        server.put({ name: "a", labels: { app: "theirs" } })
        yield* settle
        const theirs = latest.at(-1)?.object.metadata
        expect(cache.isOwn(theirs?.uid ?? "", theirs?.resourceVersion ?? "")).toBe(false)
        const ours = yield* Client.patch(WebApp, a, label("ours"))
        expect(cache.isOwn(ours.metadata.uid, ours.metadata.resourceVersion)).toBe(true)
      })
    )
  )

  effect(
    "does not find an own write that takes the object out of the informer's selector",
    withServer([], (server) =>
      Effect.gen(function* () {
        server.put({ name: "a", labels: { app: "x" } })
        const informer = yield* Cache.informer(WebApp, { labelSelector: "app=x" })
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
    "of a kind that nobody declared dies and says what to do",
    withServer([], () =>
      Effect.gen(function* () {
        const exit = yield* Effect.exit(Cache.get(WebApp, a))
        expect(Exit.isFailure(exit) && Cause.pretty(exit.cause)).toContain(
          "webapps.apps.kubedojo.io (v1beta1, full) is not in the cache: declare it with owns or watches"
        )
        yield* Cache.informer(WebApp, { labelSelector: "app=a" })
        yield* Cache.informer(WebApp, { labelSelector: "app=b" })
        const ambiguous = yield* Effect.exit(Cache.list(WebApp))
        expect(Exit.isFailure(ambiguous) && Cause.pretty(ambiguous.cause)).toContain("several label selectors")
      })
    )
  )

  effect(
    "of an object that does not match its schema fails, and a list leaves it out",
    withServer([], (server) =>
      Effect.gen(function* () {
        const Strict = Resource.make<KubernetesObject>({
          ...coordinates,
          decode: (wire) =>
            wire.metadata.name === "bad"
              ? Either.left(new Resource.InvalidObject({ kind: "WebApp", key: "default/bad", issues: [] }))
              : Either.right(wire)
        })
        server.put({ name: "bad" })
        server.put({ name: "good" })
        yield* Effect.flatMap(Cache.informer(Strict), ({ synced }) => synced)
        const failure = yield* Effect.flip(Cache.get(Strict, { namespace: "default", name: "bad" }))
        expect(failure._tag).toBe("InvalidObject")
        expect((yield* Cache.list(Strict)).map(({ metadata }) => metadata.name)).toEqual(["good"])
      })
    )
  )

  effect(
    "finds objects by owner and by an index that was declared with the informer",
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
        expect((yield* Cache.byOwner(WebApp, "owner-uid")).map(({ metadata }) => metadata.name)).toEqual(["a"])
        expect(
          (yield* Cache.list(WebApp, { index: { name: "app", value: "y" } })).map(({ metadata }) => metadata.name)
        ).toEqual(["b"])
      })
    )
  )
})

effect("closing the cache closes its watches", () =>
  Effect.gen(function* () {
    const server = Server.make()
    const client = Client.layer().pipe(Layer.provide(server.transport))
    yield* Effect.gen(function* () {
      yield* Effect.flatMap(Cache.informer(WebApp), ({ synced }) => synced)
      expect(server.watches()).toBe(1)
    }).pipe(Effect.provide(Cache.layer().pipe(Layer.provide(client))))
    expect(server.watches()).toBe(0)
  })
)
