import { describe, expect } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import * as WallClock from "../resource/WallClock.fixture.ts"
import * as Deadline from "./Deadline.ts"
import type { Request } from "./Request.ts"
import { answer } from "./Scripted.fixture.ts"
import * as Transport from "./Transport.ts"

const request: Request = { method: "POST", path: "/x?y=1", template: "/x", headers: {}, repeatable: false }

const within = (request: Request, millis: number) =>
  Effect.gen(function* () {
    const deadline = yield* Deadline.make("https://server")
    const slow = deadline.layer((request) =>
      Transport.abortable(request, Effect.delay(Effect.succeed(answer(200, "late")), millis))
    )
    return yield* Effect.result(slow(request))
  })

describe("Deadline", () => {
  effect("fails with a Transport error and an unknown outcome after 30 seconds without an answer", () =>
    Effect.gen(function* () {
      const fiber = yield* Effect.forkChild(within(request, 60_000))
      yield* TestClock.adjust("29999 millis")
      expect(fiber.pollUnsafe()).toBeUndefined()
      yield* TestClock.adjust("1 millis")
      expect(yield* Fiber.join(fiber)).toMatchObject({
        _tag: "Failure",
        failure: {
          _tag: "Transport",
          code: "DEADLINE",
          outcome: "unknown",
          message: "POST /x: no answer in time (https://server, DEADLINE)"
        }
      })
    })
  )

  for (const [way, millis] of WallClock.ways) {
    effect(`is independent of a wall clock that is set ${way} by an hour`, () =>
      Effect.gen(function* () {
        const wall = yield* WallClock.make
        const hanging = Effect.flatMap(Deadline.make("https://server"), (deadline) => {
          const send = deadline.layer((request) => Transport.abortable(request, Effect.never))
          const soon = Effect.result(send({ ...request, timeoutMillis: 10_000 }))
          return Effect.zip(Effect.result(send(request)), soon, { concurrent: true })
        })
        const fiber = yield* Effect.forkChild(Effect.provideService(hanging, Clock.Clock, wall.clock))
        yield* TestClock.adjust("1 second")
        wall.set(millis)
        yield* TestClock.adjust("28 seconds")
        // The request with 10 seconds has ended; the fiber sleeps until the deadline of the other.
        expect(fiber.pollUnsafe()).toBeUndefined()
        yield* TestClock.adjust("1 second")
        const late = { _tag: "Failure", failure: { code: "DEADLINE" } }
        expect(yield* Fiber.join(fiber)).toMatchObject([late, late])
      })
    )
  }

  effect("returns an answer within the time at once", () =>
    Effect.gen(function* () {
      const fiber = yield* Effect.forkChild(Effect.zip(within(request, 29_000), Clock.currentTimeMillis))
      yield* TestClock.adjust("10 minutes")
      expect(yield* Fiber.join(fiber)).toMatchObject([{ _tag: "Success", success: { body: "late" } }, 29_000])
    })
  )

  effect("does not limit a stream that was opened in time", () =>
    Effect.gen(function* () {
      const deadline = yield* Deadline.make("https://server")
      const opened = yield* deadline.within(request, (bounded) => Effect.succeed(bounded.abort))
      yield* TestClock.adjust("1 hour")
      expect(opened?.signal.aborted).toBe(false)
    })
  )

  effect("applies to each request, by its start and its timeout", () =>
    Effect.gen(function* () {
      const deadline = yield* Deadline.make("https://server")
      const ended: Array<number> = []
      const send = deadline.layer((request) => Transport.abortable(request, Effect.never))
      for (const [start, timeoutMillis] of [
        [0, undefined],
        [0, 1100],
        [10_000, undefined],
        [10_000, 5000],
        [95_000, undefined]
      ] as const) {
        yield* send({ ...request, timeoutMillis }).pipe(
          Effect.ignore,
          Effect.andThen(Clock.currentTimeMillis),
          Effect.tap((now) => Effect.sync(() => ended.push(now))),
          Effect.delay(start),
          Effect.forkChild
        )
      }
      yield* TestClock.adjust("3 minutes")
      expect(ended).toEqual([1100, 15_000, 30_000, 40_000, 125_000])
    })
  )

  effect("ends an interrupted request at once", () =>
    Effect.gen(function* () {
      const fiber = yield* Effect.forkChild(within(request, 60_000))
      yield* TestClock.adjust("1 second")
      yield* Fiber.interrupt(fiber)
      expect(fiber.pollUnsafe()?._tag).toBe("Failure")
      expect(yield* Clock.currentTimeMillis).toBe(1000)
    })
  )
})
