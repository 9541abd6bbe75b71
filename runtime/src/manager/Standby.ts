/** Waits for a Lease and acquires it. */
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Random from "effect/Random"
import { type ApiError, isAnswer } from "../client/ApiError.ts"
import type { LeaseLock } from "./LeaseLock.ts"

/** The reports of a standby. */
export interface Reports {
  /** The holder of the Lease, or undefined. Called after every read. */
  readonly holder: (holder: string | undefined) => Effect.Effect<void>
  readonly failed: (verb: "get" | "watch" | "take", error: ApiError) => Effect.Effect<void>
  readonly succeeded: (verb: "get" | "watch" | "take") => Effect.Effect<void>
}

/** The polls of several standbys are spread by up to this share of the retry period. */
const spread = 0.2

/**
 * Waits until the Lease is acquired, and returns when the claim was sent, in ms of the lock's clock.
 *
 * Each round reads the Lease. If another process holds it, the round watches the Lease until it is free or the watch ends. An expired
 * Lease is claimed in its last observed version: if a silent watch has missed renewals, the server rejects the claim.
 */
export const acquire = (
  lock: LeaseLock,
  { retryPeriodMillis }: { readonly retryPeriodMillis: number },
  reports: Reports
): Effect.Effect<number> =>
  Effect.gen(function* () {
    const isFree = (): boolean => lock.freeAt() <= lock.now()
    const report = Effect.suspend(() => reports.holder(lock.observed().holder))

    /** Waits until the Lease is free or the watch fails; returns whether there was a problem. */
    const wait = Effect.gen(function* () {
      const changed = yield* Latch.make(false)
      const freed = Effect.gen(function* () {
        while (!isFree()) {
          changed.closeUnsafe()
          const expired = Effect.sleep(Duration.millis(Math.ceil(lock.freeAt() - lock.now())))
          yield* Effect.raceFirst(Effect.andThen(changed.await, reports.succeeded("watch")), expired)
          yield* report
        }
        return true
      })
      const followed = Effect.catch(
        lock.follow(() => changed.openUnsafe()),
        (broken) => {
          if (broken._tag === "Ended" || broken._tag === "Expired") return Effect.succeed(true)
          // The next read reports a connection problem, if it lasts.
          return broken._tag === "Idle" || !isAnswer(broken)
            ? Effect.succeed(false)
            : Effect.as(reports.failed("watch", broken), false)
        }
      )
      return yield* Effect.raceFirst(freed, followed)
    })

    const pause = Effect.flatMap(Random.next, (random) => {
      const millis = retryPeriodMillis * (1 + spread * random)
      const untilFree = lock.freeAt() - lock.now()
      return Effect.sleep(Duration.millis(untilFree > 0 ? Math.min(millis, Math.ceil(untilFree)) : millis))
    })

    /** Returns when the claim was sent, or else whether to continue at once. */
    const round = Effect.gen(function* () {
      yield* lock.look.pipe(Effect.mapError((error) => ["get", error] as const))
      yield* Effect.andThen(reports.succeeded("get"), report)
      if (!isFree()) {
        const inOrder = yield* wait
        if (!isFree()) return inOrder
      }
      const sentAt = yield* Effect.mapError(lock.claim, (error) => ["take", error] as const)
      return sentAt ?? true
    }).pipe(
      Effect.catch(([verb, error]) => Effect.as(reports.failed(verb, error), false)),
      // For example a response that is not a Lease.
      Effect.catchDefect((defect) =>
        Effect.as(Effect.logError("A look at the Lease failed unexpectedly", Cause.die(defect)), false)
      )
    )

    let retries = 0
    while (true) {
      const began = lock.now()
      const outcome = yield* round
      if (typeof outcome === "number") return outcome
      // Another client was faster, or a watch ended: read again at once, but not repeatedly.
      retries = lock.now() - began < retryPeriodMillis ? retries + 1 : 0
      if (!outcome || retries > 1) yield* pause
    }
  })
