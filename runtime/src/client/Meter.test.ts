import { describe, expect } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/testing/TestClock"
import * as WallClock from "../resource/WallClock.fixture.ts"
import * as Metrics from "../telemetry/Metrics.ts"
import { reading } from "../telemetry/Reading.fixture.ts"
import * as ApiError from "./ApiError.ts"
import * as Client from "./Client.ts"
import * as Fence from "./Fence.ts"
import * as Meter from "./Meter.ts"
import type { Request } from "./Request.ts"
import * as Scripted from "./Scripted.fixture.ts"

const { ConfigMap, answer, configMap, disconnect, failure } = Scripted

const key = { namespace: "a", name: "x" }

/** The counts of a client on a script. */
const counted = (
  script: (request: Request, sent: number) => Scripted.Reaction,
  use: Effect.Effect<unknown, unknown, Client.Client>,
  opening?: Scripted.Reaction
) =>
  Effect.gen(function* () {
    const registry = Metrics.make()
    const scripted = yield* Scripted.make(script, opening)
    const client = Scripted.client(scripted).pipe(Layer.provide(Layer.succeed(Metrics.Metrics, registry)))
    const fiber = yield* Effect.forkChild(Effect.exit(Effect.provide(use, client)))
    yield* TestClock.adjust("1 minute")
    yield* Fiber.interrupt(fiber)
    return reading(registry)
  })

const requests = (code: string, method: string) =>
  `rest_client_requests_total{code="${code}",method="${method}",host="server"}`

const repetitions = (code: string, method: string) =>
  `rest_client_request_retries_total{code="${code}",verb="${method}",host="server"}`

describe("A request is counted", () => {
  effect("by method and status, with its duration and its size in both directions", () =>
    Effect.gen(function* () {
      const body = JSON.stringify(configMap("é"))
      const seen = yield* counted(
        () => answer(201, body),
        Client.create(ConfigMap, { metadata: { name: "é", namespace: "a" } })
      )
      expect(seen[requests("201", "POST")]).toBe(1)
      const of = (what: string) => `rest_client_${what}{verb="POST",host="server"}`
      expect(seen[of("request_duration_seconds_count")]).toBe(1)
      expect(seen[of("response_size_bytes_sum")]).toBe(Buffer.byteLength(body))
      expect(seen[of("request_size_bytes_sum")]).toBeGreaterThan(60)
      expect(Object.keys(seen).filter((name) => name.includes("retries"))).toEqual([])
    })
  )

  effect("also when it is rejected", () =>
    Effect.gen(function* () {
      const seen = yield* counted(() => failure(404, "NotFound"), Client.get(ConfigMap, key))
      expect(seen[requests("404", "GET")]).toBe(1)
    })
  )

  effect("once per attempt, and as a retry by the reason of each further attempt", () =>
    Effect.gen(function* () {
      const script = (request: Request, sent: number) =>
        sent === 1
          ? disconnect(request, "ECONNRESET")
          : sent < 4
            ? failure(503, "ServiceUnavailable")
            : answer(200, configMap("x"))
      const seen = yield* counted(script, Client.get(ConfigMap, key))
      expect(seen[requests("<error>", "GET")]).toBe(1)
      expect(seen[requests("503", "GET")]).toBe(2)
      expect(seen[requests("200", "GET")]).toBe(1)
      expect(seen[repetitions("<error>", "GET")]).toBe(1)
      expect(seen[repetitions("503", "GET")]).toBe(2)
      // Only requests with a response have a latency.
      expect(seen['rest_client_request_duration_seconds_count{verb="GET",host="server"}']).toBe(3)
    })
  )

  effect("as an error when it times out", () =>
    Effect.gen(function* () {
      const late = Client.create(ConfigMap, { metadata: { name: "x", namespace: "a" } })
      const seen = yield* counted(() => "silence", late)
      expect(seen[requests("<error>", "POST")]).toBe(1)
    })
  )

  effect("as an error when its caller is interrupted", () =>
    Effect.gen(function* () {
      const given = Effect.timeout(Client.get(ConfigMap, key), "1 second")
      const seen = yield* counted(() => "silence", given)
      expect(seen[requests("<error>", "GET")]).toBe(1)
    })
  )

  effect("unless a fence blocks it", () =>
    Effect.gen(function* () {
      const closed = Fence.within(Client.delete(ConfigMap, key), { permits: () => false, reason: "over" })
      const seen = yield* counted(() => answer(200, {}), closed)
      expect(seen).toEqual({})
    })
  )
})

effect("A request that the transport does not send, because its leadership ended, is not counted", () =>
  Effect.gen(function* () {
    const registry = Metrics.make()
    const meter = yield* Meter.make("https://server", registry)
    const request: Request = { method: "PUT", path: "/x", template: "/x", headers: {}, repeatable: true }
    const held = ApiError.fenced({ method: "PUT", path: "/x" }, "over")
    yield* Effect.flip(meter.send(() => Effect.fail(held))(request))
    expect(Object.keys(reading(registry, "rest_client_requests_total"))).toEqual([])
  })
)

effect("The duration of a request is independent of the wall clock", () =>
  Effect.gen(function* () {
    const wall = yield* WallClock.make
    const registry = Metrics.make()
    const meter = yield* Effect.provideService(Meter.make("https://server", registry), Clock.Clock, wall.clock)
    const request: Request = { method: "PUT", path: "/x", template: "/x", headers: {}, repeatable: true }
    const fiber = yield* Effect.forkChild(meter.send(() => Effect.delay(Effect.succeed(answer(200, "")), 250))(request))
    yield* TestClock.adjust(100)
    wall.set(-3_600_000)
    yield* TestClock.adjust(150)
    yield* Fiber.join(fiber)
    expect(reading(registry)['rest_client_request_duration_seconds_sum{verb="PUT",host="server"}']).toBe(0.25)
  })
)

describe("A watch is counted", () => {
  const watch = Effect.scoped(Effect.andThen(Client.watch(ConfigMap, { resourceVersion: "1" }), Effect.sleep("1 hour")))

  effect("when it is accepted, without a duration", () =>
    Effect.gen(function* () {
      const seen = yield* counted(() => answer(200, ""), watch)
      expect(seen[requests("200", "GET")]).toBe(1)
      expect(seen['rest_client_request_duration_seconds_count{verb="GET",host="server"}'] ?? 0).toBe(0)
    })
  )

  effect("when it is rejected", () =>
    Effect.gen(function* () {
      const seen = yield* counted(() => answer(200, ""), watch, failure(410, "Expired"))
      expect(seen[requests("410", "GET")]).toBe(1)
    })
  )
})
