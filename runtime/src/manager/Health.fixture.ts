/** Health checks that a test can read. */
import * as Effect from "effect/Effect"
import type * as Health from "./Health.ts"

/** The readiness checks by name, as a manager declares them. */
export const readiness = () => {
  const checks = new Map<string, Health.Check>()
  const health: Health.Checks = {
    liveness: () => Effect.void,
    readiness: (name, check) => Effect.sync(() => void checks.set(name, check)),
    started: Effect.void,
    shutDown: Effect.void
  }
  return { checks, health }
}
