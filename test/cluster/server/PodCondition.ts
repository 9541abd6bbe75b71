/**
 * The conditions of a pod, as the server itself sets them.
 */
import * as Json from "./Json.ts"
import * as Metadata from "./Metadata.ts"

/** A condition. */
export interface Condition {
  readonly type: string
  readonly status: "True" | "False"
  readonly reason?: string
  readonly message?: string
}

/** Sets a condition. Its time is that of the last change of its status. */
export const set = (draft: Json.DraftObject, condition: Condition, now: number): void => {
  const all = Json.items(Json.member(draft, "status"), "conditions")
  const index = all.findIndex((one) => Json.isObject(one) && one.type === condition.type)
  const before = all[index]
  const since = Json.isObject(before) && before.status === condition.status ? before.lastTransitionTime : undefined
  const next = { ...condition, lastProbeTime: null, lastTransitionTime: since ?? Metadata.time(now) }
  if (index < 0) all.push(next)
  else all[index] = next
}
