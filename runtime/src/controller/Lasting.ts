/** Failures that last: the attempts of an object have failed in a row for ten seconds. The user need not know a shorter failure. */
import * as Effect from "effect/Effect"
import { Reconciliation } from "./Reconciliation.ts"

/** How long attempts fail in a row before the failure lasts, in ms. */
export const millis = 10_000

/**
 * Whether a failure of this attempt has lasted: all attempts of the last ten seconds failed. Use it to keep a status through a short
 * failure, such as a 500 for a child.
 *
 * @internal
 */
export const lasts: Effect.Effect<boolean, never, Reconciliation> = Effect.map(Reconciliation, ({ lasts }) => lasts)
