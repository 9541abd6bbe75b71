/**
 * A bound on the time an answer may take: every request has one, because a connection that went silent is noticed by
 * nothing else.
 *
 * One fiber sleeps until the earliest deadline of the requests under way. `Effect.timeout` would be one line, but it starts two
 * fibers per request: 15 to 35 µs, a tenth to a fifth of all that a request costs us; this costs less than one.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Alarm from "../resource/Alarm.ts"
import * as Time from "../resource/Time.ts"
import type { ApiError } from "./ApiError.ts"
import * as Disconnect from "./Disconnect.ts"
import type { Handler } from "./Handler.ts"
import { defaultTimeoutMillis, infoOf, type Request } from "./Request.ts"

/** The deadlines of one client. */
export interface Deadline {
  /**
   * Runs `use` on the request, with an `abort` in it that fires when its time is over: then it fails with `Transport`, code
   * `DEADLINE`, outcome unknown. What `use` gave before that may go on.
   */
  readonly within: <A, R>(
    request: Request,
    use: (request: Request) => Effect.Effect<A, ApiError, R>
  ) => Effect.Effect<A, ApiError, R>
  /** The layer: each attempt has the whole time. */
  readonly layer: (send: Handler) => Handler
}

interface Entry {
  /** When the whole time is over. */
  readonly last: number
  /** When it is due: at the end of the leadership, if that is sooner. */
  at: number
  readonly until: Request["until"]
  readonly abort: AbortController
  expired: boolean
}

/** Deadlines for requests to `server`, kept until the scope closes. */
export const make = (server: string): Effect.Effect<Deadline, never, Scope.Scope> =>
  Effect.gen(function* () {
    const clock = yield* Effect.clock
    // A machine whose time is set must neither cut off what is well nor wait for what is lost.
    const millis = () => Time.monotonic(clock)
    const pending = new Set<Entry>()

    const alarm = yield* Alarm.make(clock, () => {
      const now = millis()
      let next = Number.POSITIVE_INFINITY
      for (const entry of pending) {
        // A leadership that was renewed meanwhile ends later.
        if (entry.at <= now && entry.until !== undefined) entry.at = Math.min(entry.last, entry.until())
        if (entry.at <= now) {
          pending.delete(entry)
          entry.expired = true
          entry.abort.abort()
        } else next = Math.min(next, entry.at)
      }
      return next
    })

    const add = (request: Request, abort: AbortController): Entry => {
      const last = millis() + (request.timeoutMillis ?? defaultTimeoutMillis)
      const at = request.until === undefined ? last : Math.min(last, request.until())
      const entry: Entry = { last, at, until: request.until, abort, expired: false }
      pending.add(entry)
      // Requests almost always share one timeout: the first request in 30 seconds wakes the fiber, the others do not.
      alarm.set(at)
      return entry
    }

    const within: Deadline["within"] = (request, use) =>
      Effect.suspend(() => {
        const abort = request.abort ?? new AbortController()
        const entry = add(request, abort)
        // An interruption leaves the entry behind: the sweep removes it, and aborts what has been aborted.
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
