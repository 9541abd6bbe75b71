/**
 * One leadership: from a Lease taken to the moment in which it ends, whatever happens.
 */
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { ApiError } from "../client/ApiError.ts"
import type * as Fence from "../client/Fence.ts"
import type { LeaseLock } from "./LeaseLock.ts"

/** What a leadership tells. */
export interface Reports {
  /** A renewal succeeded, and took this long. */
  readonly renewed: (millis: number) => Effect.Effect<void>
  /** A renewal failed. */
  readonly failed: (error: ApiError) => Effect.Effect<void>
  /** The Lease was not as it had been left, and is looked at. */
  readonly surprised: Effect.Effect<void>
}

/** See the top of this file. */
export interface Leadership {
  /** Closed when the leadership ends: by the clock, whether a fiber gets to run then or not, and for good. */
  readonly permit: Fence.Permit
  /** Renews the Lease for ever; ends when the leadership does, with the reason. */
  readonly lost: Effect.Effect<string>
  /** Ends it. */
  readonly end: Effect.Effect<void>
}

/**
 * A leadership that begins.
 *
 * @param sentAt when the claim was sent that the server agreed to, in ms of the lock's clock: no other candidate can have
 *   begun to count earlier
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
  // By the wall clock too: the monotonic clock of some machines stands still while they are suspended.
  let endsAtWall = lock.claimedAtWall() + renewDeadlineMillis
  let ended = false
  const expired = `the Lease was not renewed for ${Duration.format(Duration.millis(renewDeadlineMillis))}`
  const isOver = (): boolean => ended || lock.now() >= endsAt || lock.wall() >= endsAtWall

  const sleepUntil = (at: number) => Effect.sleep(Duration.millis(Math.max(0, Math.ceil(at - lock.now()))))

  /** Who has taken the Lease from us, if anybody. */
  const usurper = (): string | undefined => {
    const { holder } = lock.observed()
    return holder === options.identity ? undefined : holder
  }

  const renew = Effect.gen(function* () {
    const first = yield* lock.claim
    if (first !== undefined) return first
    // It was changed, emptied or deleted by somebody. As long as nobody else holds it, it is ours to mend.
    yield* Effect.zipRight(reports.surprised, lock.look)
    return usurper() === undefined ? yield* lock.claim : undefined
  })

  const renewals = Effect.gen(function* () {
    let begun = sentAt
    yield* sleepUntil(begun + retryPeriodMillis)
    // Once it is over, what is renewed is no longer ours to lead with.
    while (!isOver()) {
      begun = lock.now()
      const renewal = yield* Effect.either(renew)
      const holder = usurper()
      if (holder !== undefined) return `${holder} holds the Lease`
      if (renewal._tag === "Left") yield* reports.failed(renewal.left)
      else if (renewal.right !== undefined && !isOver()) {
        endsAt = renewal.right + renewDeadlineMillis
        endsAtWall = lock.claimedAtWall() + renewDeadlineMillis
        yield* reports.renewed(lock.now() - renewal.right)
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
      Effect.catchAllDefect((defect) =>
        Effect.as(
          Effect.logError("Renewing the Lease failed unexpectedly", Cause.die(defect)),
          "it could not go on renewing the Lease"
        )
      ),
      Effect.zipLeft(end)
    ),
    end
  }
}
