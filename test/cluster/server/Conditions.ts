/**
 * The conditions of an object that is being made, as apiextensions sets them: a change of the status is a transition, a change
 * of reason or message is none.
 */
import * as Json from "./Json.ts"
import * as Metadata from "./Metadata.ts"

/** Sets a condition of `status.conditions`. */
export const set = (
  draft: Json.DraftObject,
  type: string,
  status: "True" | "False",
  reason: string,
  message: string,
  now: number
): void => {
  const all = Json.items(Json.member(draft, "status"), "conditions")
  const index = all.findIndex((one) => Json.isObject(one) && one.type === type)
  const before = all[index]
  const unchanged = Json.isObject(before) && before.status === status ? before.lastTransitionTime : undefined
  const next = { type, status, lastTransitionTime: unchanged ?? Metadata.time(now), reason, message }
  if (index < 0) all.push(next)
  else all[index] = next
}

/** Whether a condition of an object is true. */
export const isTrue = (object: Json.JsonObject, type: string): boolean =>
  Json.objects(Json.at(object, "status", "conditions")).some((one) => one.type === type && one.status === "True")
