import { describe, expect } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import { isApiError } from "./ApiError.ts"
import * as Client from "./Client.ts"
import * as Fence from "./Fence.ts"
import * as Patch from "./Patch.ts"
import * as Scripted from "./Scripted.fixture.ts"

const key = { namespace: "a", name: "x" }
const { ConfigMap } = Scripted

/** A fence that can be closed. */
const gate = () => {
  let isOpen = true
  return {
    permit: { permits: () => isOpen, reason: "the leadership of default/homeostat has ended" },
    close: () => {
      isOpen = false
    }
  }
}

const writes = {
  create: Client.create(ConfigMap, { metadata: key }),
  replace: Client.replace(ConfigMap, { metadata: { ...key, resourceVersion: "7" } }),
  patch: Client.patch(ConfigMap, key, Patch.merge({ data: { a: "1" } })),
  apply: Client.apply(ConfigMap, { metadata: key }),
  delete: Client.delete(ConfigMap, key),
  "delete of all": Client.deleteAll(ConfigMap, { namespace: "a" }),
  "status patch": Client.status.patch(ConfigMap, key, Patch.merge({ status: {} })),
  "scale patch": Client.scale.patch(Scripted.Deployment, key, Patch.merge({ spec: { replicas: 1 } })),
  "raw write": Client.raw({ method: "POST", path: "/apis/x" })
}

const reads = {
  get: Client.get(ConfigMap, key),
  list: Client.list(ConfigMap, { namespace: "a" }),
  "raw read": Client.raw({ method: "GET", path: "/readyz" })
}

const answers = Scripted.make(() => Scripted.answer(200, { ...Scripted.configMap("x"), items: [] }))

describe("Behind a closed fence,", () => {
  for (const [what, write] of Object.entries<Effect.Effect<unknown, unknown, Client.Client>>(writes)) {
    effect(`a ${what} is not sent, and fails with the reason of the fence`, () =>
      Effect.gen(function* () {
        const scripted = yield* answers
        const { close, permit } = gate()
        const fenced = Fence.within(write, permit).pipe(Effect.provide(Scripted.client(scripted)))
        yield* fenced
        expect(scripted.requests).toHaveLength(1)
        close()
        const error = yield* Effect.flip(fenced)
        expect(scripted.requests).toHaveLength(1)
        expect(isApiError(error)).toBe(true)
        expect(error).toMatchObject({ _tag: "Fenced", code: "FENCED", reason: permit.reason })
        const { method, path } = scripted.requests[0] ?? { method: "", path: "" }
        expect(String(error)).toContain(`${method} ${path.replace(/\?.*/, "")}: not sent, ${permit.reason}`)
      })
    )
  }

  for (const [what, read] of Object.entries<Effect.Effect<unknown, unknown, Client.Client>>(reads)) {
    effect(`a ${what} is sent`, () =>
      Effect.gen(function* () {
        const scripted = yield* answers
        const { close, permit } = gate()
        close()
        yield* Fence.within(read, permit).pipe(Effect.provide(Scripted.client(scripted)))
        expect(scripted.requests).toHaveLength(1)
      })
    )
  }

  effect("writes of child fibers are not sent, and writes of others are", () =>
    Effect.gen(function* () {
      const scripted = yield* answers
      const client = Scripted.client(scripted)
      const { close, permit } = gate()
      close()
      const child = Effect.flatMap(Effect.forkChild(writes.create), Fiber.join)
      expect(yield* Fence.within(child, permit).pipe(Effect.flip, Effect.provide(client))).toMatchObject({
        _tag: "Fenced"
      })
      yield* Effect.provide(writes.create, client)
      expect(scripted.requests).toHaveLength(1)
    })
  )
})

describe("A fence that closes", () => {
  effect("stops the retries of a write", () =>
    Effect.gen(function* () {
      const scripted = yield* Scripted.make((request) => Scripted.disconnect(request, "ECONNREFUSED"))
      const { close, permit } = gate()
      const write = yield* Effect.forkChild(
        Effect.flip(Fence.within(writes.apply, permit)).pipe(Effect.provide(Scripted.client(scripted)))
      )
      yield* TestClock.adjust("10 millis")
      expect(scripted.requests).toHaveLength(1)
      close()
      yield* TestClock.adjust("10 seconds")
      expect(yield* Fiber.join(write)).toMatchObject({ _tag: "Fenced" })
      expect(scripted.requests).toHaveLength(1)
    })
  )

  for (const renewedAt of [undefined, 8000]) {
    const end = renewedAt === undefined ? 10_000 : 18_000
    effect(
      `ends a write without an answer after ${end / 1000} s, at the end of its leadership${renewedAt === undefined ? "" : " that was renewed in between"}, even in an uninterruptible fiber`,
      () =>
        Effect.gen(function* () {
          const clock = yield* Clock.Clock
          const now = () => Number(clock.currentTimeNanosUnsafe()) / 1e6
          const scripted = yield* Scripted.make(() => "silence")
          let endsAt = 10_000
          const permit = { permits: () => now() < endsAt, reason: "ended", until: () => endsAt }
          const write = Fence.within(writes.create, permit)
          const fiber = yield* Effect.forkChild(
            Effect.uninterruptible(Effect.flip(write)).pipe(Effect.provide(Scripted.client(scripted)))
          )
          yield* TestClock.adjust("8 seconds")
          if (renewedAt !== undefined) endsAt = renewedAt + 10_000
          yield* TestClock.adjust(end - 8000 - 1)
          expect(fiber.pollUnsafe() === undefined).toBe(true)
          yield* TestClock.adjust(1)
          expect(yield* Fiber.join(fiber)).toMatchObject({ _tag: "Transport", code: "DEADLINE" })
          expect(scripted.requests).toHaveLength(1)
        })
    )
  }
})
