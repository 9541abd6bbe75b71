/**
 * When a Backup runs: a pure function of its spec, its status and the time, so that every manager gets the same result, also after a
 * restart. Times are epoch milliseconds.
 *
 * The rules are the CronJob controller's (kubernetes, pkg/controller/cronjob/utils.go), with these differences:
 *
 * - The first run is at creation, unless `startPolicy` is OnSchedule.
 * - The latest missed run is always found. CronJob estimates it from the first two, and loses it for schedules like `0,1 2 * * *`.
 * - A tick beyond `startingDeadlineSeconds` is reported once, in `missed`.
 * - A `lastScheduleTime` in the future, after the clock was set back, is corrected (`lastScheduleTime` of the decision).
 *
 * The caller writes `lastScheduleTime` and `missed` to the status. It names the Job of a run by its `at`, so no run starts twice. It
 * decides again after `wakeAfter` and at each change, and reads the wall clock each time.
 */
import * as Result from "effect/Result"
import * as Cron from "./Cron.ts"
import * as Occurrence from "./Occurrence.ts"
import * as TimeZone from "./TimeZone.ts"

/** A schedule in its time zone. */
export interface Timetable {
  readonly cron: Cron.Cron
  readonly zone: TimeZone.TimeZone
  /** For `status.effectiveSchedule`: the drawn fields of a `-random` nickname. */
  readonly effective: string
}

/** Why the schedule is invalid: a reason of the condition Ready, and a sentence with a fix. */
export interface Refusal {
  readonly reason: "InvalidSchedule" | "UnknownTimeZone"
  readonly message: string
}

/**
 * Parses `spec.schedule` and `spec.timeZone`.
 *
 * @param options.of namespace and name of the Backup, such as `shop/cart`: the seed of `-random`
 */
export const parse = (
  schedule: string,
  options: { readonly of: string; readonly timeZone?: string | undefined }
): Result.Result<Timetable, Refusal> =>
  Result.gen(function* () {
    const { cron, effective } = yield* Result.mapError(Cron.parse(schedule, options.of), invalid)
    const zone =
      options.timeZone === undefined
        ? TimeZone.utc
        : yield* Result.mapError(
            TimeZone.find(options.timeZone),
            (message): Refusal => ({ reason: "UnknownTimeZone", message })
          )
    return Occurrence.isNever(cron)
      ? yield* Result.fail(
          invalid(
            `invalid schedule: ${JSON.stringify(schedule)} (must have a day of month that occurs in one of its months)`
          )
        )
      : { cron, zone, effective }
  })

const invalid = (message: string): Refusal => ({ reason: "InvalidSchedule", message })

/** The number of missed runs before the due one: none, up to 100, or more. */
export type Missed = "none" | "few" | "many"

const many = 100

/** The latest tick in a time span. */
export interface Recent {
  readonly at: number
  /** `none` if it is the only one. */
  readonly missed: Missed
}

/** The latest tick strictly after `after` and not after `now`; undefined if no tick is due. */
export const mostRecent = (table: Timetable, after: number, now: number): Recent | undefined => {
  const at = Occurrence.latest(table.cron, table.zone, after, now)
  if (at === undefined) return undefined
  const count = Occurrence.count(table.cron, table.zone, after, now, many + 1)
  return { at, missed: count > many ? "many" : count > 1 ? "few" : "none" }
}

/**
 * The first tick after `now`; undefined if none follows within five years.
 *
 * @param after the last tick with a run, or the creation
 */
export const following = (table: Timetable, after: number, now: number): number | undefined =>
  Occurrence.next(table.cron, table.zone, Occurrence.latest(table.cron, table.zone, after, now) ?? after)

/** The fields of a Backup's spec that decide when it runs. */
export interface Spec {
  /** Undefined: it runs once, at creation, and with `OnSchedule` only on request. */
  readonly table: Timetable | undefined
  readonly suspend: boolean
  readonly startPolicy: "Immediately" | "OnSchedule"
  /** How late a run may start, in seconds. Undefined: any time. The first run at creation has no deadline. */
  readonly startingDeadlineSeconds: number | undefined
}

/** The known past of a Backup. */
export interface Past {
  /** `metadata.creationTimestamp`. */
  readonly createdAt: number
  /** `status.lastScheduleTime`: the tick of the latest scheduled run that started or was skipped. Undefined without one. */
  readonly lastScheduleTime: number | undefined
  /** The tick of the newest existing Job. Only used if `lastScheduleTime` is in the future. */
  readonly newestRun: number | undefined
  /** `status.lastMissedTime`: the latest tick that was reported as missed. */
  readonly lastMissedTime: number | undefined
}

/** A scheduled run that should start now. */
export interface Due {
  /** The tick; for the first run the creation, unless a tick has passed since. It stays the same until `lastScheduleTime` has it. */
  readonly at: number
  /** Many: record a Warning TooManyMissedTimes. This run makes up for all of them. */
  readonly missed: Missed
}

/** The decision at a point in time. */
export interface Decision {
  readonly due: Due | undefined
  /**
   * The next tick after `now`, for `status.nextBackupTime`. Undefined while suspended, without a schedule, or without a tick within
   * five years.
   */
  readonly next: number | undefined
  /** A new tick beyond its deadline: record a Warning MissedSchedule, and write it to `lastMissedTime`. */
  readonly missed: number | undefined
  /**
   * The clock was set back: write this to the status instead of the `lastScheduleTime` in the future, before any run starts, with a
   * warning. Undefined: no correction.
   */
  readonly lastScheduleTime: number | undefined
}

/** How far `lastScheduleTime` may be in the future, because the clocks of two managers differ a little. */
const skew = 60_000

/** Decides what to do now. */
export const decide = (spec: Spec, past: Past, now: number): Decision => {
  const { table } = spec
  const last = past.lastScheduleTime
  // For a Backup with a creation time in the future, no tick would be after its creation and not after now.
  const waitsFrom = spec.startPolicy === "OnSchedule" ? past.createdAt : now
  const ahead = (last ?? waitsFrom) > now + skew
  // Never after now, with any clock at creation, so that no tick is postponed.
  const corrected = Math.min(now, Math.max(past.createdAt, past.newestRun ?? past.createdAt))
  const after = ahead ? corrected : (last ?? (past.createdAt > now + skew ? now : past.createdAt))
  const lastScheduleTime = ahead ? corrected : undefined
  if (spec.suspend) return { due: undefined, next: undefined, missed: undefined, lastScheduleTime }

  const recent = table === undefined ? undefined : mostRecent(table, after, now)
  const next = table === undefined ? undefined : following(table, after, now)
  if (last === undefined && spec.startPolicy === "Immediately") {
    // If a tick has passed since the creation, it counts: otherwise a run for the creation and one for the tick would follow each
    // other at once.
    return { due: { at: recent?.at ?? after, missed: "none" }, next, missed: undefined, lastScheduleTime }
  }
  if (recent === undefined) return { due: undefined, next, missed: undefined, lastScheduleTime }
  const deadline = spec.startingDeadlineSeconds
  const late = deadline !== undefined && recent.at <= now - deadline * 1000
  if (!late) return { due: recent, next, missed: undefined, lastScheduleTime }
  const reported = past.lastMissedTime !== undefined && recent.at <= past.lastMissedTime
  return { due: undefined, next, missed: reported ? undefined : recent.at, lastScheduleTime }
}

/**
 * The treatment of a due run while another one of the same Backup is active. `skip`: it goes to `lastScheduleTime` with an event
 * RunSkipped. `wait`: it starts when the other one ends, if that is within `startingDeadlineSeconds`; without a deadline the run is
 * skipped. `replace`: the other one is ended first.
 */
export const overlap = (
  policy: "Forbid" | "Replace",
  startingDeadlineSeconds: number | undefined
): "skip" | "wait" | "replace" =>
  policy === "Replace" ? "replace" : startingDeadlineSeconds === undefined ? "skip" : "wait"

/**
 * The longest sleep, in ms. Timers use a monotonic clock, so a change of the wall clock or a suspended machine is noticed within this
 * time. It is far below 2³¹ − 1 ms, above which timers fire at once.
 */
export const longestSleep = 3_600_000

/** Milliseconds until the next decision, by its `next`: 1 to `longestSleep`. */
export const wakeAfter = (next: number | undefined, now: number): number =>
  next === undefined ? longestSleep : Math.min(longestSleep, Math.max(1, next - now))
