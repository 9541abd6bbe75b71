/** Texts, numbers and times of statuses and messages, within the limits of the API server. Pure. */

/** `1 volume`, `2 volumes`. */
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`

/**
 * The epoch milliseconds of an RFC 3339 time. Undefined for an invalid time, and for null, which the kubelet writes for a lost
 * container.
 */
export const millis = (time: string | null | undefined): number | undefined => {
  const value = Date.parse(time ?? "")
  return Number.isNaN(value) ? undefined : value
}

/** Volumes of a run. */
export const mostSnapshots = 1000
/** UTF-16 units, never fewer than the API server's characters. */
export const longestMessage = 2048
/** The characters of a condition: warnings follow the message of a run. */
export const longestCondition = 8192

/** The beginning of a text within the length, without a split surrogate pair at its end. */
export const cut = (text: string, most: number): string =>
  text.length <= most ? text : `${text.slice(0, most - 1).replace(/[\uD800-\uDBFF]$/, "")}…`

/** A number that is exact in JSON and in the API server's int64. */
export const whole64 = (amount: number): number => Math.min(amount, Number.MAX_SAFE_INTEGER)

/** The first 253 UTF-16 units of an annotation, the limit of its status fields, without a split surrogate pair at the end. */
export const token = (annotation: string): string => annotation.slice(0, 253).replace(/[\uD800-\uDBFF]$/, "")
