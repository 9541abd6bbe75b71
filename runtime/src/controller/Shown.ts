/** Writes of the status that only inform a user. */
import * as Effect from "effect/Effect"
import * as ApiError from "../client/ApiError.ts"
import type * as Status from "./Status.ts"

/** Without the permission, or without a subresource for the status, only `why` and Events inform. */
const isPermanent = (error: Status.Failure): boolean =>
  ApiError.isApiError(error) && ["Forbidden", "NotFound", "Invalid"].includes(error._tag)

/** A write that does nothing where the API server refuses it. `what` is for the log: `the pause`. */
export const where = <A, R>(what: string, write: Effect.Effect<A, Status.Failure, R>) =>
  Effect.catchIf(Effect.asVoid(write), isPermanent, ({ message }) =>
    Effect.logDebug(`The status does not show ${what}: ${message}`)
  )
