/**
 * How long snapshots are kept: `retentionPolicy` in the seeds' grammar, as arguments of `restic forget`, and in words what it
 * will delete. Pure.
 *
 * restic counts `--keep-within` from the newest snapshot, not from now, so that a Backup that stopped running loses nothing. It
 * knows no weeks, and its `m` are months: nothing but whole hours is handed to it (restic, internal/data/duration.go).
 */
import * as Either from "effect/Either"
import type * as Occurrence from "./Occurrence.ts"

/** A policy that was understood. */
export interface Policy {
  /** As it was written. */
  readonly text: string
  /** What restic keeps: rounded up, and so at least one. */
  readonly hours: number
  /** It uses `m`, which here are minutes, and which readers of restic's or of Grafana's durations take for months. */
  readonly minutes: boolean
}

/** `spec.retention`: how many snapshots are kept besides, one for each of the latest so many spans. 0 is as if left out. */
export interface Counts {
  readonly keepLast?: number
  readonly keepHourly?: number
  readonly keepDaily?: number
  readonly keepWeekly?: number
  readonly keepMonthly?: number
  readonly keepYearly?: number
}

/**
 * Seconds. A year has 366 days: of the two mistakes, keeping a day too long loses nothing. Weeks and years are no durations of
 * Kubernetes; the seeds have them.
 */
const units: { readonly [unit: string]: number } = {
  s: 1,
  m: 60,
  h: 3600,
  d: 86_400,
  w: 7 * 86_400,
  y: 366 * 86_400
}

/** A hundred years. restic's arithmetic overflows at 292, and then it would keep what it should delete, or the reverse. */
const mostHours = (100 * 366 * 86_400) / 3600

/**
 * Reads `spec.retentionPolicy`.
 *
 * @returns undefined for an empty one: everything is kept. Left: one sentence for a person, for the condition InvalidRetention
 */
export const parse = (text: string): Either.Either<Policy | undefined, string> => {
  if (text === "") return Either.right(undefined)
  const parts = Array.from(text.matchAll(/([0-9]+)([smhdwy])/gy))
  if (parts.reduce((length, [part]) => length + part.length, 0) !== text.length) {
    return Either.left(
      `retentionPolicy ${JSON.stringify(text)} is not understood: write numbers with s, m (minutes), h, d, w or y, such as 30d or 1y6w`
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
    return Either.left(
      `retentionPolicy ${JSON.stringify(text)} would keep nothing: name a time such as 30d, or leave it out to keep everything`
    )
  }
  if (hours > mostHours) {
    return Either.left(
      `retentionPolicy ${JSON.stringify(text)} is longer than 100 years: leave it out to keep everything`
    )
  }
  return Either.right({ text, hours, minutes })
}

const flags = [
  ["keepLast", "--keep-last"],
  ["keepHourly", "--keep-hourly"],
  ["keepDaily", "--keep-daily"],
  ["keepWeekly", "--keep-weekly"],
  ["keepMonthly", "--keep-monthly"],
  ["keepYearly", "--keep-yearly"]
] as const

/**
 * The `--keep-…` arguments of `restic forget`, which keeps what any of them keeps.
 *
 * @returns empty: nothing is to be deleted, and `forget` must not be run
 */
export const keepArguments = (policy: Policy | undefined, counts: Counts = {}): ReadonlyArray<string> => [
  ...(policy === undefined ? [] : ["--keep-within", `${policy.hours}h`]),
  ...flags.flatMap(([field, flag]) => {
    const count = counts[field] ?? 0
    // `--keep-last 0` alone is no policy for restic, and negative ones were "everything" in old versions.
    return count >= 1 ? [flag, `${Math.floor(count)}`] : []
  })
]

/**
 * What somebody may not have meant, as sentences that say what will be deleted when: for a Warning event, the message of a
 * condition . Empty if there is nothing to warn of.
 *
 * @param gaps from run to run, if there is a schedule
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
  const { gaps } = options
  if (gaps !== undefined && policy.hours * 3_600_000 < gaps.longest) {
    const always = policy.hours * 3_600_000 < gaps.shortest
    const [pause, when] = always
      ? [gaps.shortest, "each successful run"]
      : [gaps.longest, "the first successful run that follows such a pause"]
    found.push(
      `${written} keeps what is at most ${kept} older than the newest snapshot, and the schedule pauses ${always ? "at least" : "up to"} ${inWords(pause / 1000)} between runs: after ${when}, every snapshot but the newest is deleted${besides}`
    )
  }
  return found
}

/** Days, hours, minutes and seconds, without those that are zero: `1 day 6 hours`. */
const inWords = (seconds: number): string => {
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
