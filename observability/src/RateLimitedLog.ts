/** Limits a log message to one per minute, for problems that repeat with every request. */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"

/** The minimum time between two lines. */
export const pause = Duration.minutes(1)

/** A synchronous function that logs a warning, or counts the skipped ones. Ends with the scope. */
export const make: Effect.Effect<(message: string) => void, never, Scope.Scope> = Effect.gen(function* () {
  const clock = yield* Clock.Clock
  const lines = yield* Queue.unbounded<string>()
  let silentUntil = Number.NEGATIVE_INFINITY
  let skipped = 0
  yield* Queue.take(lines).pipe(
    Effect.flatMap((line) => Effect.logWarning(line)),
    Effect.forever,
    Effect.forkScoped
  )
  return (message) => {
    const now = clock.currentTimeMillisUnsafe()
    if (now < silentUntil) {
      skipped++
      return
    }
    silentUntil = now + Duration.toMillis(pause)
    Queue.offerUnsafe(lines, skipped === 0 ? message : `${message} (and ${skipped} more since the last such line)`)
    skipped = 0
  }
})
