/**
 * Retries requests where that is safe and may help:
 *
 * | failure                                   | repeatable request | other request        |
 * |-------------------------------------------|--------------------|----------------------|
 * | not sent (refused, no such host)          | yes                | yes                  |
 * | sent, no response (reset, timeout)        | yes                | no: outcome unknown  |
 * | 500, 502, 503, 504                        | yes (1)            | no: outcome unknown  |
 * | 429                                       | yes                | yes: not processed   |
 * | a wrong setting (certificate, proxy, URL) | no                 | no                   |
 * | an answer that is too large               | no                 | no                   |
 * | stopped by a fence                        | no                 | no                   |
 * | everything else, above all 409            | no                 | no                   |
 *
 * (1) except a 500 to a server-side apply, because this is the permanent error for fields that the schema does not have.
 *
 * Repeatable are reads, deletes, replaces with a resourceVersion and server-side applies. The second request may fail (404 to a
 * delete, 409 to a replace) although the first one succeeded. Callers handle these errors by reading the object, which works in that
 * case too.
 *
 * Watches do not pass this layer, because the reflector has its own retries and must see each failure.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as Time from "../resource/Time.ts"
import { type ApiError, askedMillis } from "./ApiError.ts"
import * as Disconnect from "./Disconnect.ts"
import type { Handler } from "./Handler.ts"
import type { Request } from "./Request.ts"

/** The maximum number of attempts: with the delays below, enough for the restart of a server. */
export const attempts = 5

/** The first delay. It is short, because a refused connection is cheap. */
export const firstDelayMillis = 100

/** Each delay is longer than the last by this factor: 100, 300, 900, 2700 ms, about 4 s together. */
export const factor = 3

/** Delays vary by this share in both directions, so that the clients of a restarted server do not retry at the same time. */
export const jitter = 0.5

/**
 * No attempt starts later than this after the first. A request should not wait for the end of a longer outage: the caller has its own
 * back-off, and a waiting worker is blocked.
 */
export const windowMillis = 10_000

// The only repeatable PATCH is an apply.
const isApply = (request: Request): boolean => request.method === "PATCH"

const mayHelp = (request: Request, error: ApiError): boolean => {
  switch (error._tag) {
    case "Transport":
      return (
        !Disconnect.isFatal(error) &&
        error.code !== "CREDENTIALS" &&
        error.code !== "TOO_LARGE" &&
        (request.repeatable || error.outcome === "unsent")
      )
    case "TooManyRequests":
      return true
    case "Timeout":
    case "ServerError":
      return request.repeatable && (error.code === 500 ? !isApply(request) : error.code >= 502 && error.code <= 504)
    default:
      return false
  }
}

/**
 * The delay before the next attempt in ms, or `undefined` to give up.
 *
 * @param made attempts so far, from 1
 * @param elapsedMillis since the first began
 * @param random from 0 to 1
 */
export const next = (
  request: Request,
  error: ApiError,
  made: number,
  elapsedMillis: number,
  random: number
): number | undefined => {
  if (request.once === true || made >= attempts || !mayHelp(request, error)) return undefined
  const backoff = firstDelayMillis * factor ** (made - 1) * (1 + jitter * (2 * random - 1))
  const asked = askedMillis(error)
  // The server's delay is a minimum, so the jitter adds to it.
  const delay = asked === undefined ? backoff : asked + Math.min(backoff, asked * jitter)
  return elapsedMillis + delay > windowMillis ? undefined : Math.round(delay)
}

/**
 * The layer. A request that succeeds at once costs only one read of the clock. `retried` is called before each retry with the error.
 */
export const layer =
  (send: Handler, retried?: (request: Request, error: ApiError) => void): Handler =>
  (request) =>
    Effect.flatMap(Clock.Clock, (clock) => {
      const start = Time.monotonic(clock)
      const attempt = (made: number): ReturnType<Handler> =>
        Effect.catch(send(request), (error) =>
          Effect.flatMap(Random.next, (random) => {
            const delay = next(request, error, made, Time.monotonic(clock) - start, random)
            if (delay === undefined) return Effect.fail(error)
            retried?.(request, error)
            if (request.sendings !== undefined) request.sendings.again = made
            return Effect.logDebug(`${error.message}: trying again in ${delay} ms`).pipe(
              Effect.andThen(clock.sleep(Duration.millis(delay))),
              Effect.andThen(attempt(made + 1))
            )
          })
        )
      return attempt(1)
    })
