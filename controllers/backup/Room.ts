/** What the fields of a status have room for: one that is longer would have the API server refuse all of it. Pure. */

/** Volumes of a run. */
export const mostSnapshots = 1000
/** Characters, as JavaScript counts them: never fewer than the API server does. */
export const longestMessage = 2048
/** Characters of a condition: its warnings stand after the message of a run. */
export const longestCondition = 8192

/** A text that is not too long, with its beginning, and no half character at its end. */
export const cut = (text: string, most: number): string =>
  text.length <= most ? text : `${text.slice(0, most - 1).replace(/[\uD800-\uDBFF]$/, "")}…`

/** A number that JSON and the API server's int64 have alike. */
export const whole64 = (amount: number): number => Math.min(amount, Number.MAX_SAFE_INTEGER)
