/**
 * The stream of a watch with delayed events, which a test can end.
 *
 * @internal
 */
import type * as ApiError from "@homeostat/runtime/client/ApiError"
import * as Disconnect from "@homeostat/runtime/client/Disconnect"
import { infoOf, type Request } from "@homeostat/runtime/client/Request"
import type { Streaming } from "@homeostat/runtime/client/Response"
import * as Transport from "@homeostat/runtime/client/Transport"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"

/**
 * The end of a stream: a regular end by the API server, or a broken connection.
 *
 * @internal
 */
export type Ending = "ended" | "broken"

/** Bytes of a stream; `undefined` at its end. */
type Part = Exit.Exit<Uint8Array | undefined, ApiError.Transport>

/**
 * Returns the stream with each event delayed by `lagOf` milliseconds, and the function that ends it. Without a delay, it reads directly,
 * which costs less.
 *
 * @internal
 */
export const make = (
  request: Request,
  server: string,
  streaming: Streaming,
  scope: Scope.Scope,
  lagOf: () => number
): { readonly next: Streaming["next"]; readonly end: (how: Ending) => Effect.Effect<void> } => {
  let how: Ending | undefined
  /** The delayed events. They replace the direct reads after the first delay. */
  let late: Effect.Effect<Part> | undefined
  const unlessEnded = (part: Part): Part =>
    how === undefined
      ? part
      : how === "ended"
        ? Exit.succeed(undefined)
        : Exit.fail(Disconnect.make(infoOf(request), server, "ECONNRESET"))
  const read = (part: Uint8Array | undefined): Streaming["next"] => {
    const lag = part === undefined || how !== undefined ? 0 : lagOf()
    if (lag === 0) return unlessEnded(Exit.succeed(part))
    return Effect.flatMap(lagging(streaming, part, lag, scope, lagOf), (parts) => {
      late = parts
      return Transport.abortable(request, Effect.flatMap(parts, unlessEnded))
    })
  }
  return {
    next: Effect.suspend(() => {
      if (how !== undefined) return unlessEnded(Exit.succeed(undefined))
      if (late !== undefined) return Transport.abortable(request, Effect.flatMap(late, unlessEnded))
      return Effect.matchEffect(streaming.next, {
        onFailure: (error) => unlessEnded(Exit.fail(error)),
        onSuccess: read
      })
    }),
    end: (ending) =>
      Effect.suspend(() => {
        how = ending
        return streaming.abort
      })
  }
}

const isLast = (part: Part): boolean => Exit.isFailure(part) || part.value === undefined

/** Delivers the first part and the following ones, each when it is due, in their order. */
const lagging = (
  streaming: Streaming,
  first: Uint8Array | undefined,
  lag: number,
  scope: Scope.Scope,
  lagOf: () => number
) =>
  Effect.gen(function* () {
    const queue = yield* Queue.unbounded<{ readonly part: Part; readonly due: number }>()
    let due = 0
    const arrive = (part: Part, lag: number) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        due = Math.max(due, now + lag)
        return Queue.offerUnsafe(queue, { part, due })
      })
    const pump = Effect.gen(function* () {
      while (true) {
        const part = yield* Effect.exit(streaming.next)
        yield* arrive(part, isLast(part) ? 0 : lagOf())
        if (isLast(part)) return
      }
    })
    yield* arrive(Exit.succeed(first), lag)
    yield* Effect.forkIn(pump, scope)
    return Effect.gen(function* () {
      const { due, part } = yield* Queue.take(queue)
      const wait = due - (yield* Clock.currentTimeMillis)
      if (wait > 0) yield* Effect.sleep(wait)
      return part
    })
  })
