import { describe, expect } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as References from "effect/References"
import * as TestClock from "effect/testing/TestClock"
import * as Client from "../client/Client.ts"
import { capture } from "../controller/World.fixture.ts"
import * as Resource from "../resource/Resource.ts"
import * as Cache from "./Cache.ts"
import { label, lines, Node, settle, WebApp, withServer } from "./Server.fixture.ts"

describe("An informer", () => {
  effect(
    "syncs, and then reports changes without managedFields",
    withServer([], (server) =>
      Effect.gen(function* () {
        server.put({ name: "a" })
        const informer = yield* Cache.informer(WebApp)
        const heard: Array<string> = []
        informer.subscribe((changes) => heard.push(...lines(changes)))
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
    "is shared by kind, selector and projection",
    withServer([], (server) =>
      Effect.gen(function* () {
        const one = yield* Cache.informer(WebApp)
        expect(yield* Cache.informer(WebApp, { indexes: [] })).toBe(one)
        expect(yield* Cache.informer(WebApp, { select: { labels: "app=a" } })).not.toBe(one)
        expect(yield* Cache.informer(Resource.metadataOnly(WebApp))).not.toBe(one)
        const cache = yield* Cache.Cache
        yield* cache.synced
        expect(cache.informers()).toHaveLength(3)
        expect(server.watches()).toBe(3)
      })
    )
  )

  effect(
    "has the indexes of all callers",
    withServer([], (server) =>
      Effect.gen(function* () {
        server.put({ name: "a" })
        const { store, synced } = yield* Cache.informer(WebApp, { indexes: [{ name: "first", values: () => ["x"] }] })
        yield* synced
        yield* Cache.informer(WebApp, { indexes: [{ name: "letter", values: ({ metadata }) => [metadata.name] }] })
        expect(store.list({ index: { name: "first", value: "x" } })).toHaveLength(1)
        expect(store.list({ index: { name: "letter", value: "a" } })).toHaveLength(1)
        expect(store.list({ index: { name: "letter", value: "b" } })).toHaveLength(0)
      })
    )
  )

  effect(
    "reports existing objects to a late subscriber, and nothing after the unsubscription",
    withServer([], (server) =>
      Effect.gen(function* () {
        server.put({ name: "a" })
        const informer = yield* Cache.informer(WebApp)
        yield* informer.synced
        const heard: Array<string> = []
        const unsubscribe = informer.subscribe((changes) => heard.push(...lines(changes)))
        expect(heard).toEqual(["added a initial"])
        unsubscribe()
        server.put({ name: "b" })
        yield* settle
        expect(heard).toHaveLength(1)
      })
    )
  )

  effect(
    "continues when a subscriber throws",
    withServer([], (server) =>
      Effect.gen(function* () {
        const informer = yield* Cache.informer(WebApp)
        yield* informer.synced
        const heard: Array<string> = []
        informer.subscribe(() => {
          throw new Error("a subscriber's mistake")
        })
        informer.subscribe((changes) => heard.push(...lines(changes)))
        server.put({ name: "a" })
        yield* settle
        server.put({ name: "b" })
        yield* settle
        expect(heard).toEqual(["added a", "added b"])
      })
    )
  )

  effect(
    "watches each configured namespace once, into one store",
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
        // The overlay ignores a write in a namespace that the informer does not watch.
        yield* Client.patch(WebApp, { namespace: "three", name: "a" }, label("x"))
        expect([...informer.store.keys("three")]).toEqual([])
        yield* Client.patch(WebApp, { namespace: "one", name: "a" }, label("x"))
        expect(informer.store.get("one/a")?.metadata.labels).toEqual({ app: "x" })
      })
    )
  )

  effect(
    "watches all objects of a cluster-scoped kind, whatever the namespaces",
    withServer(["one", "two"], (server) =>
      Effect.gen(function* () {
        yield* Cache.informer(Node)
        yield* settle
        expect(server.requests).toEqual(["GET /api/v1/nodes", "GET /api/v1/nodes"])
      })
    )
  )

  effect(
    "restarts its watch when the watch ends, without duplicate events",
    withServer([], (server) =>
      Effect.gen(function* () {
        server.put({ name: "a" })
        const informer = yield* Cache.informer(WebApp)
        yield* informer.synced
        yield* TestClock.adjust("2 seconds")
        const heard: Array<string> = []
        informer.subscribe((changes) => heard.push(...lines(changes)))
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
  const log: Array<string> = []
  return {
    log,
    layer: Logger.layer([Logger.make(({ message }) => void log.push(String(message)))], { mergeWithExisting: true })
  }
}

describe("A kind that cannot be listed", () => {
  effect(
    "is reported with the missing permission, does not affect other kinds, and recovers within seconds of the grant",
    () => {
      const { layer, log } = logged()
      return withServer(["one"], (server) =>
        Effect.gen(function* () {
          server.refuse = (path) => (path.includes("webapps") ? 403 : undefined)
          const informer = yield* Cache.informer(WebApp)
          const other = yield* Cache.informer(Node)
          yield* TestClock.adjust("2 seconds")
          expect((yield* Effect.result(Effect.timeout(other.synced, "1 millis")))._tag).toBe("Success")
          const expected =
            "cannot list webapps.apps.kubedojo.io in namespace one: requires permission to list and watch webapps.apps.kubedojo.io in namespace one"
          expect(informer.state()).toMatchObject({ status: "failing", synced: false })
          expect(informer.state().problem).toStartWith(expected)
          expect(log.filter((line) => line.startsWith(expected))).toHaveLength(1)
          server.refuse = () => undefined
          yield* TestClock.adjust("5 seconds")
          expect(informer.state()).toMatchObject({ status: "synced", problem: undefined })
          expect(log).toContain("webapps.apps.kubedojo.io: recovered")
        })
      )().pipe(Effect.provide(layer))
    }
  )

  effect("is not reported for a single throttled request, but for repeated ones", () => {
    const { layer, log } = logged()
    return withServer([], (server) =>
      Effect.gen(function* () {
        let refusals = 1
        server.refuse = () => (refusals-- > 0 ? 429 : undefined)
        const informer = yield* Cache.informer(WebApp)
        yield* settle
        expect(informer.state()).toMatchObject({ status: "failing", synced: false, cause: { kind: "throttled" } })
        yield* TestClock.adjust("5 seconds")
        expect(informer.state().status).toBe("synced")
        expect(log).toEqual([])

        refusals = 3
        server.endWatches()
        yield* TestClock.adjust("10 seconds")
        expect(informer.state().status).toBe("synced")
        expect(log).toEqual([expect.stringContaining("cannot watch webapps"), "webapps.apps.kubedojo.io: recovered"])
      })
    )().pipe(Effect.provide(layer))
  })

  effect(
    "is retried while it is not served, and keeps its objects",
    withServer([], (server) =>
      Effect.gen(function* () {
        server.put({ name: "a" })
        server.refuse = () => 404
        const informer = yield* Cache.informer(WebApp)
        const heard: Array<string> = []
        informer.subscribe((changes) => heard.push(...lines(changes)))
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
        yield* TestClock.adjust("10 minutes")
        expect(heard.slice(1)).toEqual([])
        expect(informer.store.size()).toBe(1)
        expect(informer.state()).toMatchObject({ status: "missing", synced: true })
        server.refuse = () => undefined
        yield* TestClock.adjust("8 seconds")
        expect(heard.slice(1)).toEqual([])
        expect(informer.state().status).toBe("synced")
      })
    )
  )
})

describe("A watch that the server accepts and breaks", () => {
  effect("is reported after five times, causes a list after ten, and recovers with the next event", () => {
    const logged: Array<string> = []
    return withServer([], (server) =>
      Effect.gen(function* () {
        server.put({ name: "a" })
        const informer = yield* Cache.informer(WebApp)
        yield* settle
        for (let time = 0; time < 5; time++) {
          expect(informer.state().problem).toBeUndefined()
          server.breakWatches()
          yield* TestClock.adjust("3 seconds")
        }
        const problem = "cannot watch webapps.apps.kubedojo.io in all namespaces: GET"
        expect(informer.state()).toMatchObject({ status: "failing", synced: true, relists: 0 })
        expect(informer.state().problem).toStartWith(problem)
        expect(logged.filter((line) => line.startsWith(`WARN ${problem}`))).toHaveLength(1)
        yield* TestClock.adjust("10 seconds")
        expect(informer.state()).toMatchObject({ status: "synced", problem: undefined })
        for (let time = 0; time < 5; time++) {
          server.breakWatches()
          yield* TestClock.adjust("40 seconds")
        }
        expect(informer.state().relists).toBe(1)
        server.put({ name: "b" })
        yield* settle
        expect(informer.state()).toMatchObject({ status: "synced", problem: undefined })
        expect(logged.at(-1)).toBe("INFO webapps.apps.kubedojo.io: recovered")
      })
    )().pipe(Effect.provide(capture(logged)))
  })
})

describe("An informer that cannot list", () => {
  effect(
    "is not synced until all of its namespaces are",
    withServer(["one", "two"], (server) =>
      Effect.gen(function* () {
        server.refuse = (path) => (path.includes("namespaces/two") ? 403 : undefined)
        const informer = yield* Cache.informer(WebApp)
        yield* settle
        expect(server.watches()).toBe(1)
        const synced = yield* Effect.tap(Effect.forkChild(informer.synced), () => settle)
        expect(synced.pollUnsafe()).toBeUndefined()
        expect(informer.state()).toMatchObject({ status: "failing", synced: false })
        expect(informer.state().problem).toContain("in namespace two")
        server.refuse = () => undefined
        yield* TestClock.adjust("5 seconds")
        yield* informer.synced
      })
    )
  )

  effect(
    "reports the failure at once, without the retries of the client",
    withServer([], (server) =>
      Effect.gen(function* () {
        server.refuse = () => 503
        const informer = yield* Cache.informer(WebApp)
        yield* settle
        expect(informer.state()).toMatchObject({ status: "failing", cause: { verb: "list", kind: "unavailable" } })
      })
    )
  )
})

describe("The idle time of an informer", () => {
  effect(
    "restarts with a successful list, even if the server then rejects the watch",
    withServer([], (server) =>
      Effect.gen(function* () {
        let answers = 0
        server.refuse = () => (answers-- > 0 ? undefined : 503)
        const informer = yield* Cache.informer(WebApp)
        yield* TestClock.adjust("1 minute")
        expect(informer.state()).toMatchObject({ synced: false, idleMillis: 60_000 })
        answers = 1
        yield* TestClock.adjust("1 minute")
        expect(informer.state()).toMatchObject({ status: "failing", synced: true })
        expect(informer.state().idleMillis).toBeLessThan(60_000)
      })
    )
  )
})

describe("The fiber of an informer", () => {
  effect("restarts after a defect, with one line in the log", () => {
    const { layer, log } = logged()
    return withServer([], (server) =>
      Effect.gen(function* () {
        server.refuse = () => {
          throw new Error("an impossible answer")
        }
        const informer = yield* Cache.informer(WebApp)
        yield* settle
        server.refuse = () => undefined
        yield* TestClock.adjust("5 seconds")
        yield* informer.synced
        expect(log.filter((line) => line.startsWith("the watch of webapps.apps.kubedojo.io failed"))).toHaveLength(1)
      })
    )().pipe(Effect.provide(layer))
  })

  effect("does not log with the annotations of the first caller", () => {
    const fields: Array<boolean> = []
    const layer = Logger.layer(
      [Logger.make(({ fiber }) => void fields.push("object" in fiber.getRef(References.CurrentLogAnnotations)))],
      { mergeWithExisting: true }
    )
    return withServer([], (server) =>
      Effect.gen(function* () {
        server.refuse = () => 403
        yield* Cache.informer(WebApp).pipe(Effect.annotateLogs("object", "default/a"))
        yield* settle
        expect(fields).toEqual([false])
      })
    )().pipe(Effect.provide(layer))
  })
})
