/**
 * Sets the conditions of an object as the server does. Only a change of the status is a transition; a change of the reason or
 * message is not.
 */
import * as Json from "./Json.ts"
import { timestamp } from "./Timestamp.ts"

/** A condition of an object's status. */
export interface Condition {
  readonly type: string
  readonly status: "True" | "False"
  readonly reason?: string
  readonly message?: string
  /** Only the conditions of pods have this field. */
  readonly lastProbeTime?: null
}

/** Sets a condition in `status.conditions` of a draft. `now` is in milliseconds since 1970. */
export const set = (draft: Json.DraftObject, condition: Condition, now: number): void => {
  const { status, type, ...more } = condition
  const all = Json.items(Json.member(draft, "status"), "conditions")
  const index = all.findIndex((one) => Json.isObject(one) && one.type === type)
  const before = all[index]
  const unchanged = Json.isObject(before) && before.status === status ? before.lastTransitionTime : undefined
  const next = { type, status, lastTransitionTime: unchanged ?? timestamp(now), ...more }
  if (index < 0) all.push(next)
  else all[index] = next
}

/** Reports whether a condition of an object is true. */
export const isTrue = (object: Json.JsonObject, type: string): boolean =>
  Json.objects(Json.at(object, "status", "conditions")).some((one) => one.type === type && one.status === "True")
