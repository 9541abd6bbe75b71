/**
 * A user pauses one object with the annotation `homeostat.dev/paused`, whatever triggers its reconcile. The value is the reason; `"false"`
 * does not pause. While an object is paused, no controller reconciles it, so none writes it or its children. Its deletion goes on, with
 * its clean-up. When the annotation goes, the object is reconciled at once.
 *
 * The runtime shows the pause as the condition `Paused` and as an Event. That is its only write. The conditions of kstatus stay as they
 * were.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Cache from "../cache/Cache.ts"
import type { Change } from "../cache/Store.ts"
import type * as Client from "../client/Client.ts"
import * as EventRecorder from "../events/EventRecorder.ts"
import * as Condition from "../resource/Condition.ts"
import type { KubernetesObject } from "../resource/KubernetesObject.ts"
import { annotation } from "../resource/PauseAnnotation.ts"
import type * as Resource from "../resource/Resource.ts"
import * as Time from "../resource/Time.ts"
import { Reconciliation } from "./Reconciliation.ts"
import * as Result from "./Result.ts"
import * as Shown from "./Shown.ts"
import * as Status from "./Status.ts"

export { annotation, reasonOf } from "../resource/PauseAnnotation.ts"

/** The type of the condition, and its reason: a kind may have a condition of its own with this type. */
export const type = "Paused"
const reason = "PausedByAnnotation"

/** Whether a change begins, ends or explains a pause. No predicate of a controller may hide that. */
export const isNews = (change: Change): boolean =>
  change.type === "updated" &&
  change.object.metadata.annotations?.[annotation] !== change.previous?.metadata.annotations?.[annotation]

/** The pause in words: `The annotation homeostat.dev/paused pauses WebApp default/shop: maintenance`. */
export const describe = (what: string, why: string): string =>
  `The annotation ${annotation} pauses ${what}${why === "" || why === "true" ? "" : `: ${why}`}`

/** Whether the runtime wrote a condition to show a pause. */
export const isCondition = (condition: Partial<Condition.Condition>): boolean =>
  condition.type === type && condition.reason === reason

type Needs = Reconciliation | Client.Client | Cache.Cache | EventRecorder.EventRecorder

const record = (regarding: KubernetesObject, reason: string, note: string) =>
  EventRecorder.record({ regarding, type: "Normal", reason, note })

/** The object in its newest cached version. */
const newest = (object: KubernetesObject) =>
  Effect.map(
    Status.cached(object),
    Option.getOrElse(() => object)
  )

/** Shows the pause on a paused object, in place of its reconcile. */
export const hold = (
  resource: Resource.Any,
  object: KubernetesObject,
  why: string
): Effect.Effect<Result.Result, Status.Failure, Needs> =>
  Effect.gen(function* () {
    const { memory } = yield* Reconciliation
    const { uid } = object.metadata
    const isNew = !memory.paused.has(uid)
    memory.paused.add(uid)
    const message = describe("this object", why)
    if (Status.declares(resource, "conditions") !== true) {
      if (isNew) yield* record(object, type, message)
      return Result.done
    }
    const current = yield* newest(object)
    const now = yield* Effect.clockWith((clock) => clock.currentTimeMillis)
    const before = Status.conditions(current)
    // Without a generation, so that a change of the spec needs no write.
    const conditions = Condition.set(before, Condition.true(type, { reason, message }), Time.seconds(now))
    if (conditions === before) return Result.done
    yield* Shown.where("the pause", Status.set(object, { ...Status.statusOf(current), conditions }))
    yield* record(object, type, message)
    return Result.done
  })

/** Removes the condition of a pause that is over. Returns the object without it. */
export const resume = (object: KubernetesObject): Effect.Effect<KubernetesObject, Status.Failure, Needs> =>
  Effect.gen(function* () {
    const status = statusWithout(yield* newest(object))
    yield* Shown.where("the pause", Status.set(object, status, { conditionTypes: [type] }))
    yield* record(object, "Resumed", `The annotation ${annotation} no longer pauses this object`)
    const resumed = yield* newest(object)
    const result: KubernetesObject & { readonly status: object } = { ...resumed, status: statusWithout(resumed) }
    return result
  })

const statusWithout = (object: KubernetesObject) => ({
  ...Status.statusOf(object),
  conditions: Status.conditions(object).filter((each) => !isCondition(each))
})
