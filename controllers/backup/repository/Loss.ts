/**
 * The snapshots that a new retention would delete and the old one would not: a simulation of `restic forget` on the snapshots that the
 * schedule has made. Pure.
 *
 * It is an estimate, because only the repository knows its snapshots. It does not see runs on request and failed runs, and takes the
 * clock of the mover for UTC. restic decides in internal/data/snapshot_policy.go.
 */
import * as Occurrence from "../schedule/Occurrence.ts"
import type * as Schedule from "../schedule/Schedule.ts"
import * as Retention from "./Retention.ts"

/** A retention: a policy, numbers, or both. Without both, all snapshots are kept. */
export interface Keep {
  readonly policy: Retention.Policy | undefined
  readonly counts: Retention.Counts | undefined
}

/** The snapshots that a new retention deletes. */
export interface Loss {
  /** Snapshots of each volume that the old retention keeps. */
  readonly before: number
  /** How many of them the new one deletes. */
  readonly deleted: number
  /** Milliseconds from the oldest kept snapshot to the newest one, with the old retention and with the new one. */
  readonly span: { readonly before: number; readonly after: number }
}

const hour = 3_600_000
const day = 24 * hour

/** Snapshots beyond this number would take too long for an answer to the API server. */
const most = 2000

/** No Backup is older, in ms. Only a forged review has a longer history. */
const longestHistory = 50 * 366 * day

/**
 * The times of the snapshots that a schedule has made, the newest first.
 *
 * @param from epoch milliseconds; the times are later, and at most 50 years before `to`
 * @param to the last successful run
 * @returns undefined: too many
 */
export const times = (
  { cron, zone }: Schedule.Timetable,
  from: number,
  to: number
): ReadonlyArray<number> | undefined => {
  const found: Array<number> = []
  const begin = Math.max(from, to - longestHistory)
  for (
    let at = Occurrence.next(cron, zone, begin);
    at !== undefined && at <= to;
    at = Occurrence.next(cron, zone, at)
  ) {
    if (found.length === most) return undefined
    found.push(at)
  }
  return found.reverse()
}

/** The number of a bucket of restic; two snapshots of one bucket have the same number. */
const buckets: ReadonlyArray<readonly [keyof Retention.Counts, (at: number, index: number) => number]> = [
  ["keepLast", (_, index) => index],
  ["keepHourly", (at) => Math.floor(at / hour)],
  ["keepDaily", (at) => Math.floor(at / day)],
  // 1 January 1970 was a Thursday, and ISO weeks begin on Monday.
  ["keepWeekly", (at) => Math.floor((at / day + 3) / 7)],
  ["keepMonthly", (at) => new Date(at).getUTCFullYear() * 12 + new Date(at).getUTCMonth()],
  ["keepYearly", (at) => new Date(at).getUTCFullYear()]
]

/** The snapshots that a retention keeps, the newest first. */
export const kept = (snapshots: ReadonlyArray<number>, { counts = {}, policy }: Keep): ReadonlyArray<number> => {
  if (policy === undefined && !buckets.some(([field]) => (counts[field] ?? 0) >= 1)) return snapshots
  const left = new Map(buckets.map(([field]) => [field, Math.floor(counts[field] ?? 0)]))
  if ((left.get("keepLast") ?? 0) < 1) left.set("keepLast", Retention.floor)
  const last = new Map<string, number>()
  const [newest = 0] = snapshots
  return snapshots.filter((at, index) => {
    let keeps = policy !== undefined && at > newest - policy.hours * hour
    for (const [field, bucketOf] of buckets) {
      const rest = left.get(field) ?? 0
      const bucket = bucketOf(at, index)
      // restic also gives the oldest snapshot to a bucket that is not full.
      if (rest < 1 || (bucket === last.get(field) && index < snapshots.length - 1)) continue
      last.set(field, bucket)
      left.set(field, rest - 1)
      keeps = true
    }
    return keeps
  })
}

/** The snapshots that the old retention keeps and the new one deletes; the newest snapshot comes first. */
export const between = (snapshots: ReadonlyArray<number>, old: Keep, now: Keep): Loss => {
  const before = kept(snapshots, old)
  const after = kept(before, now)
  const span = (all: ReadonlyArray<number>): number => (all[0] ?? 0) - (all.at(-1) ?? 0)
  return {
    before: before.length,
    deleted: before.length - after.length,
    span: { before: span(before), after: span(after) }
  }
}
