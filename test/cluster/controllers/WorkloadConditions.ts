/**
 * Conditions of workloads. A condition with a new status or reason moves to the end of the list. It keeps its transition time if the
 * status is unchanged.
 */
import { type JsonObject, text } from "@homeostat/apiserver/model/Json"

/** The status of a condition. */
export type Status = "True" | "False" | "Unknown"

/** A list of conditions. */
export type Conditions = ReadonlyArray<JsonObject>

/** Returns the condition of a type. */
export const find = (conditions: Conditions, type: string): JsonObject | undefined =>
  conditions.find((condition) => condition.type === type)

/** Returns the list without the condition of a type. */
export const without = (conditions: Conditions, type: string): Conditions =>
  conditions.filter((condition) => condition.type !== type)

/** Returns the list with this condition last. An equal status and reason leave the list unchanged. */
export const set = (conditions: Conditions, condition: JsonObject): Conditions => {
  const type = text(condition.type) ?? ""
  const old = find(conditions, type)
  if (old !== undefined && old.status === condition.status && old.reason === condition.reason) return conditions
  return [
    ...without(conditions, type),
    old?.status === condition.status ? { ...condition, lastTransitionTime: old?.lastTransitionTime } : condition
  ]
}
