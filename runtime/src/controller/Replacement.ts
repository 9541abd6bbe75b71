/** The replacement of a child whose change the API server refuses, because a field of it is immutable. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { Invalid } from "../client/ApiError.ts"
import type { KubernetesObject } from "../resource/KubernetesObject.ts"
import type * as Resource from "../resource/Resource.ts"
import * as Removal from "./Removal.ts"

/** The words of the API server. Each kind has its own. */
const words =
  /\bis immutable\b|\bmay not (change|be changed in an update|add or remove containers)\b|\bcannot change roleRef\b|\bupdates to .+ are forbidden/i

/**
 * Whether the API server refuses a change only because of immutable fields. With another cause it would refuse the new child, too. A
 * refusal by a policy names no field.
 */
const isImmutable = ({ causes }: Invalid): boolean =>
  causes.length > 0 && causes.every(({ field, message }) => field !== "" && words.test(message))

const hint = 'set onImmutable: "Replace" to delete the child and create it again'

/** The error with a hint for the author of the controller. */
const hinted = (error: Invalid): Invalid =>
  new Invalid({
    ...error,
    message: `${error.message} (${hint})`,
    causes: [...error.causes, { reason: "", field: "", message: hint }]
  })

/**
 * Deletes a child with its dependents because of an immutable field, if `isWanted`. Creates it again when it is gone, which may be in
 * a later attempt. Returns the child that is being deleted until then. Fails with the error if it has another reason, or if the owner
 * does not control the child.
 *
 * @param create applies the child once more. It must not replace again: the child stays if it has changed since the cached version
 */
export const of = <A extends KubernetesObject, E, R>(
  owner: KubernetesObject,
  kind: Resource.Resource<A, never>,
  cached: A,
  error: Invalid,
  { create, isWanted }: { readonly isWanted: boolean; readonly create: Effect.Effect<A, E, R> }
) =>
  Effect.gen(function* () {
    if (!isImmutable(error)) return yield* error
    if (!isWanted) return yield* hinted(error)
    if (!Removal.isControlled(owner, cached)) return yield* error
    yield* Removal.declared(kind)
    yield* Removal.confirmIntent(owner)
    // The next one begins when the pods of the last one have ended.
    const left = yield* Removal.discard(owner, kind, cached, { propagation: "Foreground" })
    return Option.isSome(left)
      ? left.value
      : yield* Effect.mapError(create, (again) => (again instanceof Invalid && isImmutable(again) ? error : again))
  })
