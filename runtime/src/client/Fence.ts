/**
 * Keeps the writes of a leader within its leadership: none is sent after it ended, however late the fiber that makes it comes
 * to run. Every sending is judged by itself, a retry too, and by the clock: nothing has to be told in time.
 *
 * What a fence can't do is to call a request back that is on its way. A request that waits for its turn, or for its answer, is aborted
 * at the end of the leadership, also in a fiber that cannot be interrupted. The Lease leaves seconds between the end of one leadership
 * and the beginning of another for it to arrive, and what the network delays even longer is repaired by the next leader's
 * first pass.
 *
 * Only fibers that were given a fence have one: reconciles of an elected leader. The Lease itself, Events and CRDs are
 * written by others.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as ApiError from "./ApiError.ts"
import type { Handler } from "./Handler.ts"
import { infoOf, type Request } from "./Request.ts"

/** Who may write, and until when. */
export interface Permit {
  /** Whether a write may be sent now. Once it says no, it never says yes again. */
  readonly permits: () => boolean
  /** Why not, for the error of a write that was not sent: `the leadership of default/homeostat has ended`. */
  readonly reason: string
  /** When it will say no, as far as is known now, in ms of the monotonic clock. Undefined: at no time that is known. */
  readonly until?: (() => number) | undefined
}

/** The permit of those who need none. */
export const open: Permit = { permits: () => true, reason: "" }

/** What the writes of a fiber, and of the fibers it starts, are subject to. */
export class Fence extends Context.Reference<Fence>()("@homeostat/runtime/Fence", {
  defaultValue: (): Permit => open
}) {}

/** Puts whatever an effect writes behind a fence. */
export const within = <A, E, R>(effect: Effect.Effect<A, E, R>, permit: Permit): Effect.Effect<A, E, R> =>
  Effect.mapInputContext(effect, (context: Context.Context<R>) => Context.add(context, Fence, permit))

/** Sends, if that is permitted now. Reads pass: what is read late is of no harm. */
export const guard = <A, E, R>(
  request: Request,
  send: Effect.Effect<A, E, R>
): Effect.Effect<A, E | ApiError.Fenced, R> =>
  request.method === "GET"
    ? send
    : Effect.flatMap(
        Fence,
        ({ permits, reason }): Effect.Effect<A, E | ApiError.Fenced, R> =>
          permits() ? send : Effect.fail(ApiError.fenced(infoOf(request), reason))
      )

/** The layer. A write has its answer before the end of the leadership, or fails. */
export const layer =
  (send: Handler): Handler =>
  (request) =>
    request.method === "GET"
      ? send(request)
      : Effect.flatMap(Fence, ({ until }) =>
          guard(request, send(until === undefined ? request : { ...request, until }))
        )
