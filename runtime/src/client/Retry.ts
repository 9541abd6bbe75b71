/**
 * Sends a request again when that is safe and may help. What is retried:
 *
 * | failure                                   | repeatable request | any other            |
 * |-------------------------------------------|--------------------|----------------------|
 * | not sent (refused, no such host)          | yes                | yes                  |
 * | sent, no answer (reset, deadline)         | yes                | no: outcome unknown  |
 * | 500, 502, 503, 504                        | yes (1)            | no: outcome unknown  |
 * | 429                                       | yes                | yes: not processed   |
 * | a wrong setting (certificate, proxy, URL) | no                 | no                   |
 * | held back by a fence                      | no                 | no                   |
 * | everything else, 409 above all            | no                 | no                   |
 *
 * (1) but a 500 to a server-side apply: so it answers to fields that its schema does not have, and always will.
 *
 * Repeatable are reads, deletes, replaces with a resourceVersion and server-side applies. The second of two may answer
 * differently (404 to a delete, 409 to a replace) although the first one did it: what callers do about those errors,
 * looking again, is right in that case too.
 *
 * Watches do not pass here: the reflector that drives them keeps its own back-off and has to see each failure.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as Time from "../resource/Time.ts"
import { type ApiError, askedMillis } from "./ApiError.ts"
import * as Disconnect from "./Disconnect.ts"
import type { Handler } from "./Handler.ts"
import type { Request } from "./Request.ts"

/** Times a request is sent at most: over the delays below, that bridges the moment in which a server is replaced. */
export const attempts = 5

/** The first delay. A refused connection costs nothing, so the first retry comes soon. */
export const firstDelayMillis = 100

/** Each delay is this much longer than the one before: 100, 300, 900, 2700 ms, about 4 s together. */
export const factor = 3

/** Delays are spread by this share to both sides, so that many clients of one server that came back do not march in step. */
export const jitter = 0.5

/**
 * No attempt starts later than this after the first. A longer outage is not for a single request to sit out: the caller
 * has a back-off of its own, and a worker that waits is a worker that does nothing else.
 */
export const windowMillis = 10_000

// The only PATCH that is repeatable is an apply.
const isApply = (request: Request): boolean => request.method === "PATCH"

const mayHelp = (request: Request, error: ApiError): boolean => {
  switch (error._tag) {
    case "Transport":
      return (
        !Disconnect.isFatal(error) && error.code !== "CREDENTIALS" && (request.repeatable || error.outcome === "unsent")
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
 * The delay before the next attempt in milliseconds, or `undefined` to give up.
 *
 * @param made attempts made so far, from 1
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
  // What the server asked for is a floor, so the spread goes on top of it.
  const delay = asked === undefined ? backoff : asked + Math.min(backoff, asked * jitter)
  return elapsedMillis + delay > windowMillis ? undefined : Math.round(delay)
}

/**
 * The layer. A request that succeeds at once pays nothing for it but the look at the clock. `retried` is told of each that is to
 * be sent again, and why.
 */
export const layer =
  (send: Handler, retried?: (request: Request, error: ApiError) => void): Handler =>
  (request) =>
    Effect.flatMap(Effect.clock, (clock) => {
      const start = Time.monotonic(clock)
      const attempt = (made: number): ReturnType<Handler> =>
        Effect.catchAll(send(request), (error) =>
          Effect.flatMap(Random.next, (random) => {
            const delay = next(request, error, made, Time.monotonic(clock) - start, random)
            if (delay === undefined) return Effect.fail(error)
            retried?.(request, error)
            if (request.sendings !== undefined) request.sendings.again = made
            return Effect.logDebug(`${error.message}: trying again in ${delay} ms`).pipe(
              Effect.zipRight(Clock.sleep(delay)),
              Effect.zipRight(attempt(made + 1))
            )
          })
        )
      return attempt(1)
    })
