/**
 * The retention of snapshots: `retentionPolicy` in the grammar of the tutorial, as arguments of `restic forget`, and in words what
 * it will delete. Pure.
 *
 * restic counts `--keep-within` from the newest snapshot, not from now, so that a stopped Backup loses nothing. After its next run it
 * would lose everything older, so every retention keeps the newest {@link floor} snapshots. restic has no weeks, and its `m` are months,
 * so it gets only whole hours (restic, internal/data/duration.go).
 */
import * as Result from "effect/Result"
import type * as Occurrence from "../schedule/Occurrence.ts"

/** A parsed policy. */
export interface Policy {
  /** The original text. */
  readonly text: string
  /** restic's duration in hours, rounded up, at least one. */
  readonly hours: number
  /** It uses `m`, which means minutes here, and months in restic's or Grafana's durations. */
  readonly minutes: boolean
}

/** `spec.retention`: the number of additional snapshots, one for each of the latest spans. 0 is the same as absent. */
export interface Counts {
  readonly keepLast?: number
  readonly keepHourly?: number
  readonly keepDaily?: number
  readonly keepWeekly?: number
  readonly keepMonthly?: number
  readonly keepYearly?: number
}

/**
 * Seconds. A year has 366 days, because keeping a snapshot a day too long loses nothing. Kubernetes durations have no weeks and
 * years, but the tutorial does.
 */
const units: { readonly [unit: string]: number } = {
  s: 1,
  m: 60,
  h: 3600,
  d: 86_400,
  w: 7 * 86_400,
  y: 366 * 86_400
}

/** A hundred years. restic's arithmetic overflows at 292 years, and then it would keep or delete the wrong snapshots. */
const mostHours = (100 * 366 * 86_400) / 3600

/**
 * Parses `spec.retentionPolicy`.
 *
 * @returns undefined for an empty one: all snapshots are kept. Failure: the message of the condition InvalidRetention
 */
export const parse = (text: string): Result.Result<Policy | undefined, string> => {
  if (text === "") return Result.succeed(undefined)
  const parts = Array.from(text.matchAll(/([0-9]+)([smhdwy])/gy))
  if (parts.reduce((length, [part]) => length + part.length, 0) !== text.length) {
    return Result.fail(
      `invalid retentionPolicy: ${JSON.stringify(text)} (must be numbers with s, m (minutes), h, d, w or y, such as 30d or 1y6w)`
    )
  }
  let seconds = 0
  let minutes = false
  for (const [, amount = "", unit = ""] of parts) {
    seconds += Number(amount) * (units[unit] ?? 0)
    minutes ||= unit === "m"
  }
  const hours = Math.ceil(seconds / 3600)
  if (hours === 0) {
    return Result.fail(
      `invalid retentionPolicy: ${JSON.stringify(text)} (must be longer than 0; remove it to keep every snapshot)`
    )
  }
  if (hours > mostHours) {
    return Result.fail(
      `invalid retentionPolicy: ${JSON.stringify(text)} (must be at most 100y; remove it to keep every snapshot)`
    )
  }
  return Result.succeed({ text, hours, minutes })
}

const flags = [
  ["keepLast", "--keep-last"],
  ["keepHourly", "--keep-hourly"],
  ["keepDaily", "--keep-daily"],
  ["keepWeekly", "--keep-weekly"],
  ["keepMonthly", "--keep-monthly"],
  ["keepYearly", "--keep-yearly"]
] as const

/** The newest snapshots that every retention keeps, unless `retention.keepLast` is set. */
export const floor = 3

/**
 * The `--keep-…` arguments of `restic forget`; a snapshot that one of them keeps stays.
 *
 * @returns empty: nothing is deleted, and `forget` must not run
 */
export const keepArguments = (policy: Policy | undefined, counts: Counts = {}): ReadonlyArray<string> => {
  // restic rejects `--keep-last 0` alone, and old versions took negative values as "everything".
  const isSet = (field: keyof Counts) => (counts[field] ?? 0) >= 1
  if (policy === undefined && !flags.some(([field]) => isSet(field))) return []
  const all: Counts = isSet("keepLast") ? counts : { ...counts, keepLast: floor }
  return [
    ...(policy === undefined ? [] : ["--keep-within", `${policy.hours}h`]),
    ...flags.flatMap(([field, flag]) => {
      const count = all[field] ?? 0
      return count >= 1 ? [flag, `${Math.floor(count)}`] : []
    })
  ]
}

/**
 * Warnings about a retention that may be a mistake, as sentences about the deleted snapshots: for a Warning event, and for the
 * message of a condition. Empty without warnings.
 *
 * @param gaps the times between two runs, with a schedule
 */
export const warnings = (
  policy: Policy | undefined,
  options: { readonly gaps?: Occurrence.Gaps | undefined; readonly counts?: Counts | undefined } = {}
): ReadonlyArray<string> => {
  if (policy === undefined) return []
  const written = `retentionPolicy ${policy.text}`
  const kept = inWords(policy.hours * 3600)
  const besides = keepArguments(undefined, options.counts).length > 0 ? ", except those that retention keeps" : ""
  const found: Array<string> = []
  if (policy.minutes) {
    const months = policy.text.replaceAll(/(?<!\d)(\d+)m/g, (_, amount: string) => `${Number(amount) * 30}d`)
    found.push(
      `${written}: m means minutes, not months. After each successful run, the snapshots more than ${kept} older than the newest are deleted${besides}. If months were meant, write ${months}`
    )
  }
  const { counts, gaps } = options
  const last = Math.max(counts?.keepLast ?? 0, 0) || floor
  if (gaps !== undefined && policy.hours * 3_600_000 < gaps.longest) {
    const always = policy.hours * 3_600_000 < gaps.shortest
    const [pause, when] = always
      ? [gaps.shortest, "each successful run"]
      : [gaps.longest, "the first successful run after such a pause"]
    found.push(
      `${written} keeps snapshots that are at most ${kept} older than the newest one, but the schedule pauses ${always ? "at least" : "up to"} ${inWords(pause / 1000)} between runs. The maintenance that follows ${when} deletes all snapshots but the newest ${last}${besides}`
    )
  }
  return found
}

/** Days, hours, minutes and seconds, without those that are zero: `1 day 6 hours`. */
export const inWords = (seconds: number): string => {
  const parts: Array<string> = []
  let rest = Math.round(seconds)
  for (const [unit, size] of [
    ["day", 86_400],
    ["hour", 3600],
    ["minute", 60],
    ["second", 1]
  ] as const) {
    const count = Math.floor(rest / size)
    rest -= count * size
    if (count > 0) parts.push(`${count} ${unit}${count === 1 ? "" : "s"}`)
  }
  return parts.join(" ")
}
