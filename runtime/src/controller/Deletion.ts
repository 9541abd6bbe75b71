/**
 * Says on an object what its deletion waits for, if the deletion takes longer than ten seconds: Ready is False with the reason `Deleting`.
 * Otherwise a list would show the last state as long as the object is there, and nothing maintains that any more.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Cache from "../cache/Cache.ts"
import type { ApiError } from "../client/ApiError.ts"
import type * as Client from "../client/Client.ts"
import * as Condition from "../resource/Condition.ts"
import type { KubernetesObject } from "../resource/KubernetesObject.ts"
import type * as Resource from "../resource/Resource.ts"
import * as Text from "../resource/Text.ts"
import * as Time from "../resource/Time.ts"
import { Reconciliation } from "./Reconciliation.ts"
import * as Result from "./Result.ts"
import * as Shown from "./Shown.ts"
import * as Status from "./Status.ts"

/** The reason of the condition. */
export const reason = "Deleting"

/** The time that a deletion may take before the object shows it, in ms. */
export const patienceMillis = 10_000

/** The most finalizers and children in the message. Anyone who may write these objects can add more. */
const most = 3

/** The finalizers for the children of an object that is deleted in the foreground. The garbage collector of Kubernetes removes them. */
const ofKubernetes: ReadonlyArray<string> = ["foregroundDeletion", "orphan"]

const listed = (names: ReadonlyArray<string>): string =>
  names.length <= most ? names.join(", ") : `${names.slice(0, most).join(", ")} and ${names.length - most} others`

const finalizersOf = ({ metadata }: KubernetesObject): ReadonlyArray<string> => metadata.finalizers ?? []

/** The children whose deletion waits for a finalizer: `Service shop (example.com/hold)`. */
const waitingChildren = (owner: KubernetesObject) =>
  Effect.gen(function* () {
    const { owns } = yield* Reconciliation
    const dependents = yield* (yield* Cache.Cache).dependents(owner, owns)
    return dependents.flatMap(({ object, resource }) => {
      const names = finalizersOf(object).filter((name) => !ofKubernetes.includes(name))
      return object.metadata.deletionTimestamp === undefined || names.length === 0
        ? []
        : [`${resource.kind} ${object.metadata.name} (${listed(names)})`]
    })
  })

/**
 * The result of a clean-up, after the object shows what its deletion waits for. If the deletion is not late yet, the result of a finished
 * clean-up asks for another run then.
 *
 * @param finalizers the entries that the controller removes
 */
export const shown = (
  resource: Resource.Any,
  finalizers: ReadonlyArray<string>,
  object: KubernetesObject,
  result: Result.Result
): Effect.Effect<
  Result.Result,
  ApiError | Resource.InvalidObject | Status.Failure,
  Reconciliation | Client.Client | Cache.Cache
> => {
  const all = finalizersOf(object)
  const left = Result.isAgain(result) ? all : all.filter((name) => !finalizers.includes(name))
  if (left.length === 0 || Status.declares(resource, "conditions") !== true) return Effect.succeed(result)
  return Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    const asked = Date.parse(object.metadata.deletionTimestamp ?? "")
    // The clock of the API server may be ahead.
    const wait = Number.isNaN(asked) ? 0 : Math.min(asked + patienceMillis - now, patienceMillis)
    if (wait > 0) return Result.isAgain(result) ? result : Result.requeueAfter(wait)
    const current = Option.getOrUndefined(yield* Status.cached(object))
    if (current === undefined) return result
    const children = yield* waitingChildren(object)
    const behind = children.length === 0 ? "" : `, behind ${listed(children)}`
    const message = Text.printable(`Its deletion waits for ${listed(left)}${behind}`)
    const { generation = 0 } = object.metadata
    const draft = Condition.false(Condition.Ready, { reason, message, observedGeneration: generation })
    const conditions = Condition.set(Status.conditions(current), draft, Time.seconds(now))
    yield* Shown.where("the deletion", Status.set(object, { ...Status.statusOf(current), conditions }))
    return result
  })
}
