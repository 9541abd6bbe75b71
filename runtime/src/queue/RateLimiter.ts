/**
 * How fast all retries of a controller together may come: a token bucket that answers "how long until a token is
 * free". Only reservations are kept, as one number: the time at which the bucket will be full again.
 *
 * Reservations are bounded. Ten thousand objects that fail at once would reserve a thousand seconds ahead, more would
 * reserve without end, and an object that fails for the first time would queue behind all of them, long after the
 * cause is gone. So what would have to wait longer than the horizon waits for the horizon and reserves nothing: these
 * share the last slot. In such a crowd the workers' concurrency and each object's own back-off are the limits.
 */
import * as Effect from "effect/Effect"
import * as Time from "../resource/Time.ts"

/** See the top of this file. */
export interface RateLimiter {
  /** Reserves a token and returns the milliseconds until it may be used, 0 for at once. Never more than the horizon. */
  readonly reserve: () => number
}

/** How fast, and how far ahead. */
export interface Options {
  /** Tokens per second, above 0. Default 10, as client-go's. */
  readonly perSecond?: number | undefined
  /** Tokens that may be used at once after a quiet time, at least 1. Default 100, as client-go's. */
  readonly burst?: number | undefined
  /** The longest wait. Default 1000 s, as the back-off's: the bucket never makes the longest wait of a retry longer. */
  readonly horizonMillis?: number | undefined
}

/** A full bucket on the Clock present here. */
export const make = (options?: Options): Effect.Effect<RateLimiter> =>
  Effect.map(Effect.clock, (clock) => {
    const interval = 1000 / (options?.perSecond ?? 10)
    const burst = options?.burst ?? 100
    const horizon = options?.horizonMillis ?? 1_000_000
    const tolerance = (burst - 1) * interval
    /** When the bucket is full again: one interval further for each token that is out. */
    let fullAt = Number.NEGATIVE_INFINITY
    return {
      reserve: () => {
        const now = Time.monotonic(clock)
        fullAt = Math.max(fullAt, now)
        const delay = Math.max(0, Math.ceil(fullAt - tolerance - now))
        if (delay >= horizon) return horizon
        fullAt += interval
        return delay
      }
    }
  })
