/**
 * Limits the writes of a leader to its leadership: none is sent after its end, however late its fiber runs. The fence checks the
 * clock before each attempt, also before retries, so it needs no notification.
 *
 * A fence cannot stop a sent request. At the end of the leadership it aborts requests that wait in the client or for their response. It
 * does so in uninterruptible fibers too. The Lease leaves some seconds between two leaderships for sent requests to arrive. The first
 * pass of the next leader repairs the effect of requests that the network delays longer.
 *
 * Only the reconciles of an elected leader have a fence. Writes of the Lease, Events and CRDs have none. The `WriteSwitch` of the process
 * stops these too, except those of the Lease.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as ApiError from "./ApiError.ts"
import type { Handler } from "./Handler.ts"
import { infoOf, type Request } from "./Request.ts"
import * as WriteSwitch from "./WriteSwitch.ts"

/** The permission to write, and when it ends. */
export interface Permit {
  /** Whether a write may be sent now. After the first `false` it stays `false`. */
  readonly permits: () => boolean
  /** The reason in the error of a write that was not sent: `the leadership of default/homeostat has ended`. */
  readonly reason: string
  /** When `permits` becomes false as far as is known now, in ms of the monotonic clock. Undefined: not known. */
  readonly until?: (() => number) | undefined
}

/** Always permits. */
export const open: Permit = { permits: () => true, reason: "" }

/** The permit for the writes of a fiber and its child fibers. */
export const Fence = Context.Reference("@homeostat/runtime/Fence", {
  defaultValue: (): Permit => open
})

/** Runs an effect with a fence. */
export const within = <A, E, R>(effect: Effect.Effect<A, E, R>, permit: Permit): Effect.Effect<A, E, R> =>
  Effect.updateContext(effect, (context: Context.Context<R>) => Context.add(context, Fence, permit))

/** Sends if the fence permits it now. Reads always pass, because late reads do no harm. */
export const guard = <A, E, R>(
  request: Request,
  send: Effect.Effect<A, E, R>
): Effect.Effect<A, E | ApiError.Fenced, R> =>
  request.method === "GET"
    ? send
    : Effect.withFiber((fiber): Effect.Effect<A, E | ApiError.Fenced, R> => {
        const { permits, reason } = fiber.getRef(Fence)
        if (!permits()) return Effect.fail(ApiError.fenced(infoOf(request), reason))
        const stop = fiber.getRef(WriteSwitch.WriteSwitch)?.stop()
        return stop === undefined || WriteSwitch.isReview(request)
          ? send
          : Effect.fail(ApiError.fenced(infoOf(request), WriteSwitch.describe(stop)))
      })

/** The layer. A write gets its response before the end of the leadership, or fails. */
export const layer =
  (send: Handler): Handler =>
  (request) =>
    request.method === "GET"
      ? send(request)
      : Effect.flatMap(Fence, ({ until }) =>
          guard(request, send(until === undefined ? request : { ...request, until }))
        )
