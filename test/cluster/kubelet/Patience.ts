/** Waits for objects that a pod refers to and that do not exist yet. */
import * as Effect from "effect/Effect"

/** Retries each second until the effect succeeds. `report` gets each error message once, until the message changes. */
export const retry = <A, R, R2>(
  effect: Effect.Effect<A, { readonly message: string }, R>,
  report: (message: string) => Effect.Effect<void, never, R2>,
  reported?: string
): Effect.Effect<A, never, R | R2> =>
  Effect.catch(effect, ({ message }) =>
    (message === reported ? Effect.void : report(message)).pipe(
      Effect.andThen(Effect.sleep("1 second")),
      Effect.andThen(retry(effect, report, message))
    )
  )
