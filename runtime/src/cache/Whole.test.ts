import { describe, expect } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Client from "../client/Client.ts"
import * as Transport from "../client/Transport.ts"
import type { KubernetesObject } from "../resource/KubernetesObject.ts"
import * as Resource from "../resource/Resource.ts"
import * as Cache from "./Cache.ts"
import { make, type Server, settle, WebApp, withServer } from "./Server.fixture.ts"

const a = { namespace: "default", name: "a" }
const gets = ({ requests }: Server) => requests.filter((each) => each.endsWith("/webapps/a")).length

const labelsOf = Option.map(({ metadata }: KubernetesObject) => metadata.labels)
const followed = Effect.flatMap(Cache.informer(Resource.metadataOnly(WebApp)), ({ synced }) => synced)

describe("A whole object of a kind with metadata in the cache", () => {
  effect(
    "is read once for each version, however many ask for it",
    withServer([], (server) =>
      Effect.gen(function* () {
        server.put({ name: "a", labels: { app: "x" } })
        server.put({ name: "b" })
        yield* followed
        const all = Effect.forEach(Array.from({ length: 1000 }), () => Cache.getWhole(WebApp, a), {
          concurrency: "unbounded"
        })
        expect(new Set((yield* all).map((found) => JSON.stringify(labelsOf(found)))).size).toBe(1)
        yield* all
        expect(gets(server)).toBe(1)
        server.put({ name: "b", labels: { app: "y" } })
        yield* settle
        yield* all
        expect(gets(server)).toBe(1)
        server.put({ name: "a", labels: { app: "y" } })
        yield* settle
        expect((yield* all).map(labelsOf)).toEqual(Array.from({ length: 1000 }, () => Option.some({ app: "y" })))
        expect(gets(server)).toBe(2)
        expect(server.requests.filter((each) => each.endsWith("/webapps/b"))).toEqual([])
      })
    )
  )

  effect(
    "is not there, and not read, if the cache lacks it; and is not kept if it is gone",
    withServer([], (server) =>
      Effect.gen(function* () {
        yield* followed
        expect(Option.isNone(yield* Cache.getWhole(WebApp, a))).toBe(true)
        expect(gets(server)).toBe(0)
        server.put({ name: "a" })
        yield* settle
        server.hold()
        server.remove("default/a")
        expect(Option.isNone(yield* Cache.getWhole(WebApp, a))).toBe(true)
        server.release()
        yield* settle
        server.put({ name: "a" })
        yield* settle
        expect(Option.isSome(yield* Cache.getWhole(WebApp, a))).toBe(true)
      })
    )
  )

  effect(
    "is kept as the part that the controller chooses, without managedFields by default",
    withServer([], (server) =>
      Effect.gen(function* () {
        server.put({ name: "a", labels: { app: "x" } })
        yield* followed
        const nameless = (object: KubernetesObject) => ({ ...object, metadata: { ...object.metadata, labels: {} } })
        expect(labelsOf(yield* Cache.getWhole(WebApp, a, nameless))).toEqual(Option.some({}))
        const [found] = Option.toArray(yield* Cache.getWhole(WebApp, a))
        expect(found?.metadata).not.toHaveProperty("managedFields")
        expect(found?.metadata.labels).toEqual({ app: "x" })
        yield* Cache.getWhole(WebApp, a, nameless)
        expect(gets(server)).toBe(2)
      })
    )
  )

  effect(
    "is read again after a refusal",
    withServer([], (server) =>
      Effect.gen(function* () {
        server.put({ name: "a" })
        yield* followed
        server.refuse = (path) => (path.endsWith("/a") ? 403 : undefined)
        expect((yield* Effect.flip(Cache.getWhole(WebApp, a)))._tag).toBe("Forbidden")
        server.refuse = () => undefined
        expect(Option.isSome(yield* Cache.getWhole(WebApp, a))).toBe(true)
      })
    )
  )
})

effect("a reader that is interrupted leaves its read to the next one", () =>
  Effect.gen(function* () {
    const server = make()
    server.put({ name: "a" })
    const gate = yield* Deferred.make<void>()
    let asked = 0
    const slow = Layer.effect(
      Transport.Transport,
      Effect.map(Transport.Transport, (transport) => ({
        ...transport,
        send: (request: Parameters<typeof transport.send>[0]) =>
          request.path.endsWith("/webapps/a")
            ? Effect.suspend(() =>
                asked++ === 0 ? Effect.never : Effect.andThen(Deferred.await(gate), transport.send(request))
              )
            : transport.send(request)
      }))
    ).pipe(Layer.provide(server.transport))
    const client = Client.layer().pipe(Layer.provide(slow))
    yield* Effect.gen(function* () {
      yield* followed
      const first = yield* Effect.forkChild(Cache.getWhole(WebApp, a))
      const second = yield* Effect.forkChild(Cache.getWhole(WebApp, a))
      const third = yield* Effect.forkChild(Cache.getWhole(WebApp, a))
      yield* settle
      expect(asked).toBe(1)
      yield* Fiber.interrupt(first)
      yield* settle
      yield* Deferred.succeed(gate, undefined)
      expect(Option.isSome(yield* Fiber.join(second)) && Option.isSome(yield* Fiber.join(third))).toBe(true)
      expect(asked).toBe(2)
    }).pipe(Effect.provide(Cache.layer().pipe(Layer.provide(client))))
  })
)
