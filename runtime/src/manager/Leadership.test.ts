import { describe, expect } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import * as Leadership from "./Leadership.ts"
import type { LeaseLock } from "./LeaseLock.ts"
import { nothing } from "./LeaseRecord.ts"

describe("A leadership", () => {
  effect("is not extended by an answer that is read after its end, even before a timer fires", () =>
    Effect.gen(function* () {
      let now = 0
      const lock: LeaseLock = {
        now: () => now,
        wall: () => 0,
        claimedAtWall: () => 0,
        observed: () => ({ ...nothing, holder: "a" }),
        freeAt: () => 0,
        different: () => undefined,
        mayBeOurs: () => true,
        look: Effect.void,
        // The process is suspended for a minute during the request.
        claim: Effect.sync(() => {
          const sentAt = now
          now += 60_000
          return sentAt + 55_000
        }),
        release: Effect.succeed("released"),
        follow: () => Effect.never
      }
      const leadership = Leadership.make(
        lock,
        { lease: "default/x", identity: "a", renewDeadlineMillis: 10_000, retryPeriodMillis: 2000 },
        0,
        { renewed: () => Effect.void, failed: () => Effect.void, surprised: Effect.void }
      )
      const lost = yield* Effect.forkChild(leadership.lost)
      expect(leadership.permit.permits()).toBe(true)
      yield* TestClock.adjust("2 seconds")
      expect(leadership.permit.permits()).toBe(false)
      expect(yield* Fiber.join(lost)).toBe("the Lease was not renewed for 10s")
      expect(leadership.permit.permits()).toBe(false)
    })
  )
})
