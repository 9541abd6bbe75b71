/** One leadership: from the acquired Lease to the end. */
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { ApiError } from "../client/ApiError.ts"
import type * as Fence from "../client/Fence.ts"
import type { LeaseLock } from "./LeaseLock.ts"

/** The reports of a leadership. */
export interface Reports {
  /** A renewal succeeded after this time. */
  readonly renewed: (millis: number) => Effect.Effect<void>
  /** A renewal failed. */
  readonly failed: (error: ApiError) => Effect.Effect<void>
  /** Another client changed the Lease, and the leader reads it again. */
  readonly surprised: Effect.Effect<void>
}

/** A leadership that runs. */
export interface Leadership {
  /** Closes when the leadership ends: by the clock, even if no fiber runs then, and permanently. */
  readonly permit: Fence.Permit
  /** Renews the Lease; completes when the leadership ends, with the reason. */
  readonly lost: Effect.Effect<string>
  /** Ends the leadership. */
  readonly end: Effect.Effect<void>
}

/**
 * Starts a leadership.
 *
 * @param sentAt when the successful claim was sent, in ms of the lock's clock: no other candidate can have begun to count earlier
 */
export const make = (
  lock: LeaseLock,
  options: {
    /** `default/homeostat` */
    readonly lease: string
    readonly identity: string
    readonly renewDeadlineMillis: number
    readonly retryPeriodMillis: number
  },
  sentAt: number,
  reports: Reports
): Leadership => {
  const { renewDeadlineMillis, retryPeriodMillis } = options
  let endsAt = sentAt + renewDeadlineMillis
  // Also by the wall clock, because some monotonic clocks stop while the machine is suspended.
  let endsAtWall = lock.claimedAtWall() + renewDeadlineMillis
  let ended = false
  const expired = `the Lease was not renewed for ${Duration.format(Duration.millis(renewDeadlineMillis))}`
  /** Stays true, also if the wall clock is set back later: a worker whose write was not sent waits for the end of the leadership. */
  const isOver = (): boolean => {
    ended ||= lock.now() >= endsAt || lock.wall() >= endsAtWall
    return ended
  }

  const sleepUntil = (at: number) => Effect.sleep(Duration.millis(Math.max(0, Math.ceil(at - lock.now()))))

  /** The new holder, if another process has acquired the Lease. */
  const newHolder = (): string | undefined => {
    const { holder } = lock.observed()
    return holder === options.identity ? undefined : holder
  }

  const renew = Effect.gen(function* () {
    const first = yield* lock.claim
    if (first !== undefined) return first
    // Another client changed, emptied or deleted the Lease. While no other process holds it, this leader may rewrite it.
    yield* Effect.andThen(reports.surprised, lock.look)
    return newHolder() === undefined ? yield* lock.claim : undefined
  })

  const renewals = Effect.gen(function* () {
    let begun = sentAt
    yield* sleepUntil(begun + retryPeriodMillis)
    // After the end, a renewal does not extend this leadership.
    while (!isOver()) {
      begun = lock.now()
      const renewal = yield* Effect.result(renew)
      const holder = newHolder()
      if (holder !== undefined) return `${holder} holds the Lease`
      if (renewal._tag === "Failure") yield* reports.failed(renewal.failure)
      else if (renewal.success !== undefined && !isOver()) {
        endsAt = renewal.success + renewDeadlineMillis
        endsAtWall = lock.claimedAtWall() + renewDeadlineMillis
        yield* reports.renewed(lock.now() - renewal.success)
      }
      yield* sleepUntil(begun + retryPeriodMillis)
    }
    return expired
  })

  const expiry = Effect.gen(function* () {
    while (!isOver()) yield* sleepUntil(endsAt)
    return expired
  })

  const end = Effect.sync(() => {
    ended = true
  })
  return {
    permit: {
      permits: () => !isOver(),
      reason: `the leadership of ${options.lease} has ended`,
      until: () => (isOver() ? 0 : endsAt)
    },
    lost: Effect.raceFirst(expiry, renewals).pipe(
      Effect.catchDefect((defect) =>
        Effect.as(
          Effect.logError("Renewing the Lease failed unexpectedly", Cause.die(defect)),
          "it could not go on renewing the Lease"
        )
      ),
      Effect.tap(end)
    ),
    end
  }
}
