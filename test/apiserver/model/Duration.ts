/**
 * Formats ages with two or three digits, as kubectl does: `5s`, `3m20s`, `4d2h`.
 */

/** Formats a duration. A time in the future, beyond the tolerance of clocks, results in `<invalid>`. */
export const human = (milliseconds: number): string => {
  const seconds = Math.trunc(milliseconds / 1_000)
  if (seconds < -1) return "<invalid>"
  if (seconds < 0) return "0s"
  if (seconds < 120) return `${seconds}s`
  const minutes = Math.trunc(seconds / 60)
  if (minutes < 10) return pair(minutes, "m", seconds % 60, "s")
  if (minutes < 180) return `${minutes}m`
  const hours = Math.trunc(minutes / 60)
  if (hours < 8) return pair(hours, "h", minutes % 60, "m")
  if (hours < 48) return `${hours}h`
  const days = Math.trunc(hours / 24)
  if (days < 8) return pair(days, "d", hours % 24, "h")
  if (days < 365 * 2) return `${days}d`
  const years = Math.trunc(days / 365)
  return years < 8 ? pair(years, "y", days % 365, "d") : `${years}y`
}

/** Formats the age of an RFC 3339 time. Returns `<unknown>` for a missing time and `<invalid>` for a malformed one. */
export const age = (time: string | undefined, now: number): string => {
  if (time === undefined || time === "") return "<unknown>"
  const then = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(time) ? Date.parse(time) : Number.NaN
  return Number.isNaN(then) ? "<invalid>" : human(now - then)
}

const pair = (large: number, unit: string, small: number, smallUnit: string): string =>
  small === 0 ? `${large}${unit}` : `${large}${unit}${small}${smallUnit}`
