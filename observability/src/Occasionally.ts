/** Says something at most once a minute, however often it is said: for troubles that come with every request. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"

/** How long it is silent after each line. */
export const pause = Duration.minutes(1)

/** A function for code without effects, which logs a warning, or counts what it would have said. Ends with the scope. */
export const make: Effect.Effect<(message: string) => void, never, Scope.Scope> = Effect.gen(function* () {
  const clock = yield* Effect.clock
  const lines = yield* Queue.unbounded<string>()
  let silentUntil = Number.NEGATIVE_INFINITY
  let unsaid = 0
  yield* Queue.take(lines).pipe(
    Effect.flatMap((line) => Effect.logWarning(line)),
    Effect.forever,
    Effect.forkScoped
  )
  return (message) => {
    const now = clock.unsafeCurrentTimeMillis()
    if (now < silentUntil) {
      unsaid++
      return
    }
    silentUntil = now + Duration.toMillis(pause)
    Queue.unsafeOffer(lines, unsaid === 0 ? message : `${message} (and ${unsaid} more since the last such line)`)
    unsaid = 0
  }
})
