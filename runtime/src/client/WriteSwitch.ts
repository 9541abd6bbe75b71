/**
 * Stops all writes of a process for a time, at the fence. Reads go on, and so do the writes of the Lease and reviews of tokens and
 * permissions, which change nothing. A write that was sent before goes on.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Time from "../resource/Time.ts"
import type { Request } from "./Request.ts"

/** A stop of all writes. */
export interface Stop {
  /** When it ends, in ms since 1970. */
  readonly until: number
  /** Why, in one line; empty without a reason. */
  readonly reason: string
}

/** The switch of a process. */
export interface WriteSwitch {
  /** The stop that holds now. */
  readonly stop: () => Stop | undefined
  /** Begins, changes or ends a stop. */
  readonly set: (stop: Stop | undefined) => void
  /** Waits until writes are permitted. */
  readonly resumed: Effect.Effect<void>
  /** The wait for the next call of `set`, or for the end of the stop. */
  readonly changed: () => Effect.Effect<void>
}

/** The switch of a fiber and its child fibers. Default: none, so nothing stops their writes. */
export const WriteSwitch = Context.Reference("@homeostat/runtime/WriteSwitch", {
  defaultValue: (): WriteSwitch | undefined => undefined
})

/** A switch that permits writes. */
export const make: Effect.Effect<WriteSwitch> = Effect.map(Clock.Clock, (clock) => {
  let current: Stop | undefined
  let next = Latch.makeUnsafe(false)
  const now = () => clock.currentTimeMillisUnsafe()
  const stop = (): Stop | undefined => {
    if (current !== undefined && now() >= current.until) current = undefined
    return current
  }
  const changed = (): Effect.Effect<void> => {
    const changing = next.await
    const until = stop()?.until
    return until === undefined ? changing : Effect.raceFirst(changing, Effect.sleep(Math.max(until - now(), 0)))
  }
  const resumed: Effect.Effect<void> = Effect.suspend(() =>
    stop() === undefined ? Effect.void : Effect.andThen(changed(), resumed)
  )
  return {
    stop,
    set: (stop) => {
      current = stop
      const before = next
      next = Latch.makeUnsafe(false)
      // Last, because it runs the waiting fibers.
      before.openUnsafe()
    },
    resumed,
    changed
  }
})

/** Runs an effect whose writes no switch stops. */
export const exempt = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.provideService(effect, WriteSwitch, undefined)

/** Whether a request writes nothing, although its method does: reviews of tokens and permissions. */
export const isReview = ({ path }: Pick<Request, "path">): boolean =>
  path.startsWith("/apis/authentication.k8s.io/") || path.startsWith("/apis/authorization.k8s.io/")

/** The stop in words: `All writes are stopped until 2026-11-20T09:00:00Z: reason`. */
export const describe = ({ reason, until }: Stop): string =>
  `All writes are stopped until ${Time.seconds(until)}${reason === "" ? "" : `: ${reason}`}`
