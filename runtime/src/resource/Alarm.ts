/**
 * One fiber that sleeps until the next thing is due, and that synchronous code can wake earlier.
 */
import type * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Time from "./Time.ts"

/** See the top of this file. */
export interface Alarm {
  /** Makes sure that the alarm rings at `dueAt` (of the monotonic time) or earlier. */
  readonly set: (dueAt: number) => void
}

/** JavaScript timers cannot sleep longer (24.8 days), and Effect's Clock takes longer sleeps for endless ones. */
const longestSleepMillis = 2 ** 31 - 1

/**
 * Forks the fiber into the Scope. `ring` does what is due and returns when the next thing will be, Infinity for nothing;
 * it may be called early.
 */
export const make = (clock: Clock.Clock, ring: () => number): Effect.Effect<Alarm, never, Scope.Scope> =>
  Effect.suspend(() => {
    let sleepsUntil = Number.POSITIVE_INFINITY
    let early = false
    let wake: (() => void) | undefined

    const woken = Effect.async<void>((resume) => {
      wake = () => resume(Effect.void)
      // `set` may have been called before this fiber began to listen.
      if (early) wake()
    })

    const night = Effect.suspend(() => {
      early = false
      sleepsUntil = ring()
      if (sleepsUntil === Number.POSITIVE_INFINITY) return woken
      const millis = Math.min(Math.ceil(sleepsUntil - Time.monotonic(clock)), longestSleepMillis)
      return Effect.raceFirst(clock.sleep(Duration.millis(millis)), woken)
    })

    const set = (dueAt: number): void => {
      if (early || dueAt >= sleepsUntil) return
      early = true
      wake?.()
    }

    // A scope may be filled where nothing can be interrupted; its fiber must be, or the scope could not close.
    return Effect.as(Effect.forkScoped(Effect.interruptible(Effect.forever(night))), { set })
  })
