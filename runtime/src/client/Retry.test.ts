import { describe, expect, test } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Random from "effect/Random"
import * as TestClock from "effect/testing/TestClock"
import { fixed } from "../resource/Random.fixture.ts"
import * as WallClock from "../resource/WallClock.fixture.ts"
import * as ApiError from "./ApiError.ts"
import type { Request } from "./Request.ts"
import type { Response } from "./Response.ts"
import * as Retry from "./Retry.ts"
import { answer, disconnect, failure } from "./Scripted.fixture.ts"

const get: Request = { method: "GET", path: "/x?y=1", template: "/x", headers: {}, repeatable: true }
const apply: Request = { ...get, method: "PATCH" }
const create: Request = { ...get, method: "POST", repeatable: false }
const mergePatch: Request = { ...get, method: "PATCH", repeatable: false }

const errorOf = (request: Request, reaction: string): ApiError.ApiError => {
  const code = Number(reaction)
  if (Number.isNaN(code)) return disconnect(request, reaction)
  const response: Response = failure(code, code === 409 ? "Conflict" : "Some")
  return ApiError.fromResponse({ method: request.method, path: "/x" }, response)
}

describe("Retry", () => {
  // Retried: a get, an apply, a create, a merge patch.
  const cases = {
    ECONNREFUSED: [true, true, true, true],
    ENOTFOUND: [true, true, true, true],
    FailedToOpenSocket: [true, true, true, true],
    ECONNRESET: [true, true, false, false],
    HTTP2StreamReset: [true, true, false, false],
    HTTP2RefusedStream: [true, true, true, true],
    DEADLINE: [true, true, false, false],
    EPROTO: [true, true, false, false],
    SOMETHING_NEW: [true, true, false, false],
    UNABLE_TO_VERIFY_LEAF_SIGNATURE: [false, false, false, false],
    ERR_TLS_CERT_ALTNAME_INVALID: [false, false, false, false],
    UnsupportedProxyProtocol: [false, false, false, false],
    CREDENTIALS: [false, false, false, false],
    429: [true, true, true, true],
    500: [true, false, false, false],
    501: [false, false, false, false],
    502: [true, true, false, false],
    503: [true, true, false, false],
    504: [true, true, false, false],
    400: [false, false, false, false],
    401: [false, false, false, false],
    403: [false, false, false, false],
    404: [false, false, false, false],
    409: [false, false, false, false],
    410: [false, false, false, false],
    422: [false, false, false, false]
  }
  for (const [reaction, expected] of Object.entries(cases)) {
    test(`${reaction}: ${["a get", "an apply", "a create", "a merge patch"].filter((_, i) => expected[i]).join(", ") || "nothing"} is retried`, () => {
      const again = [get, apply, create, mergePatch].map(
        (request) => Retry.next(request, errorOf(request, reaction), 1, 0, 0.5) !== undefined
      )
      expect(again).toEqual(expected)
    })
  }

  test("triples its delays, with jitter of half in both directions", () => {
    const error = errorOf(get, "ECONNRESET")
    expect([1, 2, 3, 4].map((made) => Retry.next(get, error, made, 0, 0.5))).toEqual([100, 300, 900, 2700])
    expect([0, 1].map((random) => Retry.next(get, error, 1, 0, random))).toEqual([50, 150])
  })

  test("stops after the last attempt, or if the next one would start after the time limit", () => {
    const error = errorOf(get, "ECONNRESET")
    expect(Retry.next(get, error, Retry.attempts, 0, 0.5)).toBeUndefined()
    expect(Retry.next(get, error, 4, Retry.windowMillis - 2700, 0.5)).toBe(2700)
    expect(Retry.next(get, error, 4, Retry.windowMillis - 2699, 0.5)).toBeUndefined()
  })

  test("waits at least for retryAfter, within the time limit", () => {
    const asked = (seconds: number) => {
      const response = answer(429, "busy", { "retry-after": String(seconds) })
      return Retry.next(create, ApiError.fromResponse(create, response), 1, 0, 0.5)
    }
    expect(asked(2)).toBe(2100)
    expect(asked(30)).toBeUndefined()
  })

  test("does not repeat a request with once", () => {
    expect(Retry.next({ ...get, once: true }, errorOf(get, "ECONNREFUSED"), 1, 0, 0.5)).toBeUndefined()
  })

  const run = (request: Request, reactions: ReadonlyArray<string | Response>) =>
    Effect.gen(function* () {
      const sentAt: Array<number> = []
      const send = Retry.layer((request) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) => {
          const reaction = reactions[sentAt.length] ?? "ECONNREFUSED"
          sentAt.push(now)
          return typeof reaction === "string" ? Effect.fail(errorOf(request, reaction)) : Effect.succeed(reaction)
        })
      )
      const fiber = yield* Effect.forkChild(Effect.result(send(request)))
      yield* TestClock.adjust("1 minute")
      return { result: yield* Fiber.join(fiber), sentAt }
    }).pipe(Effect.provideService(Random.Random, fixed(0.5)))

  effect("continues as soon as the server is available", () =>
    Effect.gen(function* () {
      const { result, sentAt } = yield* run(create, ["ECONNREFUSED", "ECONNREFUSED", answer(201, "made")])
      expect(result).toMatchObject({ _tag: "Success", success: { body: "made" } })
      expect(sentAt).toEqual([0, 100, 400])
    })
  )

  effect("stops after five attempts in four seconds if the server stays unavailable", () =>
    Effect.gen(function* () {
      const { result, sentAt } = yield* run(get, [])
      expect(result).toMatchObject({ _tag: "Failure", failure: { _tag: "Transport", outcome: "unsent" } })
      expect(sentAt).toEqual([0, 100, 400, 1300, 4000])
    })
  )

  for (const [way, millis] of WallClock.ways) {
    effect(`keeps its time limit if the wall clock is set ${way} by an hour`, () =>
      Effect.gen(function* () {
        const wall = yield* WallClock.make
        let sent = 0
        const send = Retry.layer((request) =>
          Effect.delay(
            Effect.suspend(() => {
              sent++
              return Effect.fail(errorOf(request, "ECONNRESET"))
            }),
            "3 seconds"
          )
        )
        const fiber = yield* Effect.forkChild(Effect.provideService(Effect.result(send(get)), Clock.Clock, wall.clock))
        yield* TestClock.adjust("1 second")
        wall.set(millis)
        yield* TestClock.adjust("1 minute")
        expect((yield* Fiber.join(fiber))._tag).toBe("Failure")
        // They end at 3, 6.1 and 9.4 s; a fourth would begin later than 10 s after the first.
        expect(sent).toBe(3)
      }).pipe(Effect.provideService(Random.Random, fixed(0.5)))
    )
  }

  effect("does not repeat a create whose answer is lost, and the outcome is unknown", () =>
    Effect.gen(function* () {
      const { result, sentAt } = yield* run(create, ["ECONNRESET"])
      expect(result).toMatchObject({ _tag: "Failure", failure: { code: "ECONNRESET", outcome: "unknown" } })
      expect(sentAt).toEqual([0])
    })
  )

  effect("repeats an apply whose answer is lost", () =>
    Effect.gen(function* () {
      const { result, sentAt } = yield* run(apply, ["ECONNRESET", answer(200, "applied")])
      expect(result._tag).toBe("Success")
      expect(sentAt).toEqual([0, 100])
    })
  )
})
