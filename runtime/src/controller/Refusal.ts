/**
 * A request that the API server refuses, as whoever looks at the object is told of it: `Ready` false and `Stalled` true with
 * reason `Forbidden`, naming the request and, if it is for want of a right, the rule that would allow it.
 *
 * The attempt fails as it does anyhow and is repeated by the controller's schedule. The same refusal is written once. When an
 * attempt succeeds, or fails of something that has nothing to do with rights, the conditions go, if the controller has not put
 * its own in their place. A failure that may be over in a moment, such as a conflict, tells nothing of what would come next.
 *
 * Only kinds whose status has conditions are written to. A refusal of the status itself, and one because the namespace is being
 * deleted, which takes no right, stand in the log alone.
 */
import * as Effect from "effect/Effect"
import type * as Cache from "../cache/Cache.ts"
import * as ApiError from "../client/ApiError.ts"
import type * as Client from "../client/Client.ts"
import * as Right from "../client/Right.ts"
import type * as Condition from "../resource/Condition.ts"
import type { KubernetesObject } from "../resource/KubernetesObject.ts"
import type * as Resource from "../resource/Resource.ts"
import * as Time from "../resource/Time.ts"
import type { Reconciliation } from "./Reconciliation.ts"
import * as Status from "./Status.ts"

/** The reason of the conditions. */
export const reason = "Forbidden"

/** How their messages begin, which tells them from conditions that a controller gives the same reason. */
const opening = "The API server refuses "

/** One line: the request, the server's words, and the rule that would allow it. */
export const describe = (error: ApiError.Forbidden): string => {
  const right = Right.wanting(error)
  return `${opening}${error.message}${right === undefined ? "" : `; ${Right.describe(right)}`}`
}

type Needs = Reconciliation | Client.Client | Cache.Cache

/** Adds to the attempts on an object of a kind that a refusal is told, and that it is taken back when it is over. */
export const told = (
  resource: Resource.Any,
  object: KubernetesObject
): (<A, E, R>(
  attempt: Effect.Effect<A, E, R>
) => Effect.Effect<A, E | ApiError.ApiError | Resource.InvalidObject, R | Needs>) => {
  if (Status.declares(resource, "conditions") !== true) return (attempt) => attempt
  const isToBeTold = (error: ApiError.Forbidden): boolean =>
    Right.wanting(error)?.resource !== `${resource.plural}/status` && !ApiError.isNamespaceTerminating(error)
  const tell = (error: ApiError.Forbidden) =>
    Effect.clockWith((clock) => clock.currentTimeMillis).pipe(
      Effect.flatMap((now) => Status.stall(resource, object, { reason, message: describe(error) }, Time.seconds(now))),
      Effect.catchAll((failure) => Effect.logDebug(`The refusal could not be told: ${failure.message}`))
    )
  const retract = Effect.suspend(() =>
    Status.conditions(object).some(isTold) ? Status.retract(object, isTold) : Effect.void
  )
  // The attempt has failed of something else, which is what it is to be repeated for.
  const tryToRetract = Effect.catchAll(retract, (failure) =>
    Effect.logDebug(`The end of a refusal could not be told: ${failure.message}`)
  )
  return (attempt) =>
    attempt.pipe(
      Effect.tapError((error) => {
        if (error instanceof ApiError.Forbidden) return isToBeTold(error) ? tell(error) : Effect.void
        return isFleeting(error) ? Effect.void : tryToRetract
      }),
      Effect.tapDefect(() => tryToRetract),
      Effect.tap(() => retract)
    )
}

/** Whether trying again is likely to get further: nothing follows from it for what was refused before. */
const isFleeting = (error: unknown): boolean =>
  ApiError.isApiError(error) &&
  (!ApiError.isAnswer(error) || error.code >= 500 || [401, 408, 409, 410, 429].includes(error.code))

const isTold = (condition: Condition.Condition): boolean =>
  condition.reason === reason && condition.message.startsWith(opening)
