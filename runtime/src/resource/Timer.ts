/** One fiber that sleeps until the next due time. Synchronous code can set an earlier time. */
import type * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Time from "./Time.ts"

/** A timer. */
export interface Timer {
  /** Calls `onDue` at `dueAt` (monotonic time, in ms) or earlier. */
  readonly set: (dueAt: number) => void
}

/** JavaScript timers cannot sleep longer (24.8 days), and Effect's Clock treats longer sleeps as infinite. */
const longestSleepMillis = 2 ** 31 - 1

/** Forks the fiber into the Scope. `onDue` does the due work and returns the next due time, or Infinity; it may be called early. */
export const make = (clock: Clock.Clock, onDue: () => number): Effect.Effect<Timer, never, Scope.Scope> =>
  Effect.suspend(() => {
    let sleepsUntil = Number.POSITIVE_INFINITY
    let early = false
    let wake: (() => void) | undefined

    const woken = Effect.callback<void>((resume) => {
      wake = () => resume(Effect.void)
      // `set` may have been called before this fiber started to listen.
      if (early) wake()
    })

    const sleep = Effect.suspend(() => {
      early = false
      sleepsUntil = onDue()
      if (sleepsUntil === Number.POSITIVE_INFINITY) return woken
      const millis = Math.min(Math.ceil(sleepsUntil - Time.monotonic(clock)), longestSleepMillis)
      return Effect.raceFirst(clock.sleep(Duration.millis(millis)), woken)
    })

    const set = (dueAt: number): void => {
      if (early || dueAt >= sleepsUntil) return
      early = true
      wake?.()
    }

    // Interruptible even in an uninterruptible region, because otherwise the scope could not close.
    return Effect.as(Effect.forkScoped(Effect.interruptible(Effect.forever(sleep))), { set })
  })
