/**
 * The check of fields that a schema does not declare. JavaScript rounds an integer beyond 9007199254740991, so a controller that copies
 * one would write another number.
 */
import * as Schema from "effect/Schema"

/**
 * The id of {@link isExact}, which the API server does not know.
 *
 * @internal
 */
export const id = "homeostat/isExact"

/** The path of the first such integer. */
const beyond = (value: unknown): ReadonlyArray<PropertyKey> | undefined => {
  if (typeof value === "bigint") return []
  if (typeof value === "number") return Number.isInteger(value) && !Number.isSafeInteger(value) ? [] : undefined
  if (typeof value !== "object" || value === null) return undefined
  for (const key in value) {
    const found = beyond(Reflect.get(value, key))
    if (found !== undefined) return [Array.isArray(value) ? Number(key) : key, ...found]
  }
  return undefined
}

/** Fails at the first integer that may be rounded. */
export const isExact = Schema.makeFilter<unknown>(
  (value) => {
    const path = beyond(value)
    return path === undefined
      ? undefined
      : { path, issue: "an integer beyond 9007199254740991 cannot be copied exactly (write a smaller one)" }
  },
  { representation: { id, payload: {} } }
)
