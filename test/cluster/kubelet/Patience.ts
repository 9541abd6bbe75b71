/** Waits for objects that a pod refers to and that do not exist yet. */
import * as Effect from "effect/Effect"

/** Retries each second until the effect succeeds. `say` reports an error message once, until the message changes. */
export const retry = <A, R, R2>(
  effect: Effect.Effect<A, { readonly message: string }, R>,
  say: (message: string) => Effect.Effect<void, never, R2>,
  said?: string
): Effect.Effect<A, never, R | R2> =>
  Effect.catchAll(effect, ({ message }) =>
    (message === said ? Effect.void : say(message)).pipe(
      Effect.zipRight(Effect.sleep("1 second")),
      Effect.zipRight(retry(effect, say, message))
    )
  )
