/** The time limits of a controller's attempts. One fiber sleeps until the next limit, so that an attempt starts no fiber of its own. */
import type * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import * as Time from "../resource/Time.ts"
import * as Timer from "../resource/Timer.ts"

/** An attempt in progress. */
export interface Limit {
  readonly fiber: Fiber.Fiber<unknown, unknown>
  /** Milliseconds of the monotonic time. */
  readonly dueAt: number
  /** Whether the time limit has passed. Then the fiber has been interrupted. */
  isOver: boolean
}

/** The limits of the attempts in progress. */
export interface Timeouts {
  /** Interrupts the fiber when the time limit passes, unless `end` is called before. */
  readonly begin: (fiber: Fiber.Fiber<unknown, unknown>) => Limit
  readonly end: (limit: Limit) => void
}

/** Time limits of one length, until the scope closes. */
export const make = (clock: Clock.Clock, timeout: Duration.Duration): Effect.Effect<Timeouts, never, Scope.Scope> =>
  Effect.suspend(() => {
    const millis = Duration.toMillis(timeout)
    // All limits have one length: the first one in is the first one due.
    const pending = new Set<Limit>()
    const onDue = (): number => {
      const now = Time.monotonic(clock)
      for (const limit of pending) {
        if (limit.dueAt > now) return limit.dueAt
        pending.delete(limit)
        limit.isOver = true
        limit.fiber.interruptUnsafe()
      }
      return Number.POSITIVE_INFINITY
    }
    return Effect.map(Timer.make(clock, onDue), (timer) => ({
      begin: (fiber) => {
        const limit: Limit = { fiber, dueAt: Time.monotonic(clock) + millis, isOver: false }
        pending.add(limit)
        timer.set(limit.dueAt)
        return limit
      },
      end: (limit) => void pending.delete(limit)
    }))
  })
