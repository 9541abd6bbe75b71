/** Failures that last: the attempts of an object have failed in a row for ten seconds. The user need not know a shorter failure. */
import * as Effect from "effect/Effect"
import * as ObjectState from "../resource/ObjectState.ts"
import { Reconciliation } from "./Reconciliation.ts"

/**
 * The beginning of the message of Ready about such a failure. The state of an object with it is Failed, although the runtime retries.
 *
 * @internal
 */
export const opening = ObjectState.lasting

/** How long attempts fail in a row before the failure lasts, in ms. */
export const millis = 10_000

/**
 * Whether a failure of this attempt has lasted: all attempts of the last ten seconds failed. Use it to keep a status through a short
 * failure, such as a 500 for a child.
 *
 * @internal
 */
export const lasts: Effect.Effect<boolean, never, Reconciliation> = Effect.map(Reconciliation, ({ lasts }) => lasts)
