/**
 * Conditions as the controllers of workloads keep them: one that comes to another status or reason goes to the end of the
 * list, and keeps the time of its last transition where its status stays.
 */
import { type JsonObject, text } from "@homeostat/apiserver/model/Json"

/** Whether it holds. */
export type Status = "True" | "False" | "Unknown"

/** A list of conditions. */
export type Conditions = ReadonlyArray<JsonObject>

/** The condition of that type. */
export const find = (conditions: Conditions, type: string): JsonObject | undefined =>
  conditions.find((condition) => condition.type === type)

/** The list without it. */
export const without = (conditions: Conditions, type: string): Conditions =>
  conditions.filter((condition) => condition.type !== type)

/** The list with this condition last, unless it says the same already. */
export const set = (conditions: Conditions, condition: JsonObject): Conditions => {
  const type = text(condition.type) ?? ""
  const old = find(conditions, type)
  if (old !== undefined && old.status === condition.status && old.reason === condition.reason) return conditions
  return [
    ...without(conditions, type),
    old?.status === condition.status ? { ...condition, lastTransitionTime: old?.lastTransitionTime } : condition
  ]
}
