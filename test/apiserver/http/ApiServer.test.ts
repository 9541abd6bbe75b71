import { describe, expect } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import * as Json from "../model/Json.ts"
import type { ApiServer } from "./ApiServer.ts"
import { ask, configMaps, make, merge, thing, things } from "./Client.fixture.ts"

const statusOf = (body: Json.JsonObject) => ({ code: body.code, reason: body.reason, message: body.message })

describe("ApiServer rejects", () => {
  for (const path of [
    "/nope",
    "/apis/nope.io",
    "/apis/nope.io/v1/things",
    "/apis/probe.io/v9/things",
    "/apis/probe.io/v1/nope",
    "/apis/probe.io/v1/things/a",
    "/apis//v1/x"
  ]) {
    effect(`${path} in plain text`, () =>
      Effect.gen(function* () {
        const answer = yield* ask(yield* make(), "GET", path)
        expect(answer).toMatchObject({ status: 404, text: "404 page not found\n" })
        expect(answer.headers["content-type"]).toBe("text/plain; charset=utf-8")
      })
    )
  }

  effect("a body of more than three megabytes in any encoding", () =>
    Effect.gen(function* () {
      const server = yield* make()
      const large = JSON.stringify({ metadata: { name: "x" }, data: { a: "ä".repeat(1_600_000) } })
      for (const body of [large, new TextEncoder().encode(large)]) {
        const answer = yield* ask(server, "POST", configMaps, body)
        expect(statusOf(answer.body)).toEqual({
          code: 413,
          reason: "RequestEntityTooLarge",
          message: "Request entity too large: limit is 3145728"
        })
      }
    })
  )

  effect("malformed requests with a Status, and continues to serve", () =>
    Effect.gen(function* () {
      const server = yield* make()
      const deep = (open: string, close: string, depth: number) => open.repeat(depth) + close.repeat(depth)
      const bodies = [
        deep("[", "]", 100_000),
        `{"metadata":{"name":"x"},"data":${deep('{"a":', "", 9_000)}1${"}".repeat(9_000)}}`,
        `{"apiVersion":"probe.io/v1","kind":"Thing","metadata":{"name":"x"},"spec":${deep("[", "]", 9_990)}}`,
        new Uint8Array([0x7b, 0xff, 0xfe, 0x22]),
        "\0",
        '{"metadata":{"name":"\\ud800"}}',
        '{"__proto__":{"a":1},"metadata":{"name":"__proto__"}}'
      ]
      for (const body of bodies) {
        for (const path of [configMaps, things]) {
          const answer = yield* ask(server, "POST", path, body)
          expect(answer.status).toBeGreaterThanOrEqual(400)
          expect(answer.status).toBeLessThan(500)
          expect(answer.body.kind).toBe("Status")
          expect(answer.text).not.toMatch(/\.ts:|at .*\(/)
        }
      }
      for (const query of [
        `labelSelector=${"(".repeat(50_000)}`,
        `fieldSelector=${"x=,".repeat(20_000)}`,
        `continue=${"A".repeat(99_999)}`
      ]) {
        expect((yield* ask(server, "GET", `${things}?${query}`)).status).toBe(400)
      }
      expect((yield* ask(server, "GET", things)).status).toBe(200)
    })
  )

  effect("a resourceVersion that is not reached within three seconds, and answers if it is", () =>
    Effect.gen(function* () {
      const server = yield* make()
      const asked = server.store.revision + 1
      const get = () => Effect.forkChild(ask(server, "GET", `${things}?resourceVersion=${asked}`))
      const late = yield* get()
      yield* TestClock.adjust("2999 millis")
      expect(late.pollUnsafe()).toBeUndefined()
      yield* TestClock.adjust("1 millis")
      const { body, headers } = yield* Fiber.join(late)
      expect(statusOf(body)).toEqual({
        code: 504,
        reason: "Timeout",
        message: `Timeout: Too large resource version: ${asked}, current: ${asked - 1}`
      })
      expect(headers["retry-after"]).toBe("1")
      const early = yield* get()
      yield* Effect.yieldNow
      yield* ask(server, "POST", things, thing("a"))
      expect((yield* Fiber.join(early)).status).toBe(200)
    })
  )
})

describe("ApiServer", () => {
  effect("describes itself", () =>
    Effect.gen(function* () {
      const server = yield* make()
      expect((yield* ask(server, "GET", "/version")).body).toMatchObject({ major: "1", minor: "37" })
      for (const path of ["/healthz", "/livez", "/readyz"]) {
        expect(yield* ask(server, "GET", path)).toMatchObject({ status: 200, text: "ok" })
      }
    })
  )

  effect("has the namespaces that every cluster has", () =>
    Effect.gen(function* () {
      const { body } = yield* ask(yield* make(), "GET", "/api/v1/namespaces")
      expect(Json.objects(body.items).map((one) => Json.at(one, "metadata", "name"))).toEqual([
        "default",
        "kube-node-lease",
        "kube-public",
        "kube-system"
      ])
    })
  )

  effect("sends each warning once, in one header", () =>
    Effect.gen(function* () {
      const server = yield* make()
      const { headers } = yield* ask(server, "POST", things, { ...thing("a"), 'o"dd': 1, ümlaut: 2 })
      expect(headers.warning).toBe('299 - "unknown field \\"o\\\\\\"dd\\"", 299 - "unknown field \\"%C3%BCmlaut\\""')
    })
  )

  effect("gives the same responses for the same seed and clock", () =>
    Effect.gen(function* () {
      const run = (server: ApiServer) =>
        Effect.map(ask(server, "POST", things, { ...thing(""), metadata: { generateName: "w-" } }), ({ text }) => text)
      const [one, other, third] = [yield* make({ seed: 7 }), yield* make({ seed: 7 }), yield* make({ seed: 8 })]
      expect(yield* run(one)).toBe(yield* run(other))
      expect(yield* run(third)).not.toBe(yield* run(one))
    })
  )

  effect("continues from the saved state of another server, with its custom kinds", () =>
    Effect.gen(function* () {
      const server = yield* make()
      yield* ask(server, "POST", things, thing("a", { spec: { color: "red" } }))
      const again = yield* make({ saved: JSON.parse(JSON.stringify(server.saved())) })
      expect((yield* ask(again, "GET", `${things}/a`)).text).toBe((yield* ask(server, "GET", `${things}/a`)).text)
      expect((yield* merge(again, `${things}/a`, { spec: { color: "blue" } })).status).toBe(200)
    })
  )
})
