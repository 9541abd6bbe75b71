import { describe, expect } from "bun:test"
import { make } from "@homeostat/apiserver/http/Client.fixture"
import * as Client from "@homeostat/runtime/client/Client"
import { ConfigMap } from "@homeostat/runtime/resource/BuiltIn"
import { Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import * as Memory from "./Memory.ts"
import { effect } from "./Test.ts"

const onServer = <A, E>(body: Effect.Effect<A, E, Client.Client>) =>
  Effect.flatMap(make(), (server) =>
    Effect.provide(body, Layer.provide(Client.layer({ userAgent: "test/1" }), Memory.layer(server)))
  )

const named = (name: string) => ({ metadata: { namespace: "default", name } })

describe("Memory", () => {
  effect("returns the answers and errors of the server to the client", () =>
    onServer(
      Effect.gen(function* () {
        yield* Client.create(ConfigMap, { ...named("a"), data: { key: "value" } })
        expect((yield* Client.get(ConfigMap, named("a").metadata)).data).toEqual({ key: "value" })
        const again = yield* Effect.flip(Client.create(ConfigMap, named("a")))
        expect(again._tag).toBe("AlreadyExists")
        const list = yield* Client.list(ConfigMap, { namespace: "default" })
        expect(list.items.map(({ metadata }) => metadata.name)).toEqual(["a"])
      })
    )
  )

  effect("returns the events of a watch, with the clock of the test", () =>
    onServer(
      Effect.scoped(
        Effect.gen(function* () {
          const { resourceVersion } = yield* Client.list(ConfigMap, { namespace: "default" })
          const { next } = yield* Client.watch(ConfigMap, { namespace: "default", resourceVersion, timeoutSeconds: 60 })
          const waiting = yield* Effect.forkChild(next)
          yield* Client.create(ConfigMap, named("a"))
          expect((yield* Fiber.join(waiting)).map(({ type }) => type)).toEqual(["ADDED"])
          const bookmark = yield* Effect.forkChild(next)
          yield* TestClock.adjust("58 seconds")
          expect((yield* Fiber.join(bookmark)).map(({ type }) => type)).toEqual(["BOOKMARK"])
          const end = yield* Effect.forkChild(Effect.flip(next))
          yield* TestClock.adjust("2 seconds")
          expect((yield* Fiber.join(end))._tag).toBe("Ended")
        })
      )
    )
  )

  effect("ends an interrupted request at once", () =>
    onServer(
      Effect.gen(function* () {
        const list = yield* Effect.forkChild(
          Client.list(ConfigMap, { namespace: "default", resourceVersion: "999999" })
        )
        yield* Effect.yieldNow
        yield* Fiber.interrupt(list)
      })
    )
  )
})
