/** The maximum lengths of status fields: the API server would reject a longer status. Pure. */

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
