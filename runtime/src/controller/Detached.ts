/** Fibers that a scope interrupts at its end without waiting for them. */
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"

/** Forks an effect that may never end, such as a function of an author. The end of the scope interrupts it and does not wait for it. */
export const forkScoped = <A, E, R>(
  effect: Effect.Effect<A, E, R>
): Effect.Effect<Fiber.Fiber<A, E>, never, R | Scope.Scope> =>
  Effect.acquireRelease(Effect.forkDetach(effect), (fiber) => Effect.sync(() => fiber.interruptUnsafe()))
