/**
 * The timeout of each request. Only a timeout detects a connection that went silent.
 *
 * One fiber sleeps until the earliest deadline of the requests in progress. `Effect.timeout` would be one line, but it starts two
 * fibers per request, which cost 15 to 35 µs. That is a tenth to a fifth of the client's cost of a request.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Time from "../resource/Time.ts"
import * as Timer from "../resource/Timer.ts"
import type { ApiError } from "./ApiError.ts"
import * as Disconnect from "./Disconnect.ts"
import type { Handler } from "./Handler.ts"
import { defaultTimeoutMillis, infoOf, type Request } from "./Request.ts"

/** The deadlines of one client. */
export interface Deadline {
  /**
   * Runs `use` on the request with an `abort` that fires at the deadline. Then it fails with `Transport`, code `DEADLINE`, outcome
   * unknown. A stream that `use` returned before is not affected.
   */
  readonly within: <A, R>(
    request: Request,
    use: (request: Request) => Effect.Effect<A, ApiError, R>
  ) => Effect.Effect<A, ApiError, R>
  /** The layer: each attempt has the full timeout. */
  readonly layer: (send: Handler) => Handler
}

interface Pending {
  /** The end of the full timeout. */
  readonly last: number
  /** The deadline: the end of the timeout, or of the leadership if that is sooner. */
  at: number
  readonly until: Request["until"]
  readonly abort: AbortController
  expired: boolean
}

/** Deadlines for requests to `server`, until the scope closes. */
export const make = (server: string): Effect.Effect<Deadline, never, Scope.Scope> =>
  Effect.gen(function* () {
    const clock = yield* Clock.Clock
    // The monotonic clock, because a change of the machine's time must not affect timeouts.
    const millis = () => Time.monotonic(clock)
    const pending = new Set<Pending>()

    const timer = yield* Timer.make(clock, () => {
      const now = millis()
      let next = Number.POSITIVE_INFINITY
      for (const entry of pending) {
        // A renewed leadership ends later.
        if (entry.at <= now && entry.until !== undefined) entry.at = Math.min(entry.last, entry.until())
        if (entry.at <= now) {
          pending.delete(entry)
          entry.expired = true
          entry.abort.abort()
        } else next = Math.min(next, entry.at)
      }
      return next
    })

    const add = (request: Request, abort: AbortController): Pending => {
      const last = millis() + (request.timeoutMillis ?? defaultTimeoutMillis)
      const at = request.until === undefined ? last : Math.min(last, request.until())
      const entry: Pending = { last, at, until: request.until, abort, expired: false }
      pending.add(entry)
      // Requests almost always have the same timeout: only the first request in 30 seconds wakes the fiber.
      timer.set(at)
      return entry
    }

    const within: Deadline["within"] = (request, use) =>
      Effect.suspend(() => {
        const abort = request.abort ?? new AbortController()
        const entry = add(request, abort)
        // An interruption leaves the entry, and the sweep removes it.
        return Effect.matchCauseEffect(use({ ...request, abort }), {
          onFailure: (cause) => {
            pending.delete(entry)
            return entry.expired
              ? Effect.fail(Disconnect.make(infoOf(request), server, "DEADLINE"))
              : Effect.failCause(cause)
          },
          onSuccess: (answer) => {
            pending.delete(entry)
            return Effect.succeed(answer)
          }
        })
      })
    return { within, layer: (send) => (request) => within(request, send) }
  })
