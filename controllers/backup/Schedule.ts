/**
 * When a Backup runs: a pure function of its spec, its status and the time, so that a manager that was restarted, or another
 * one, comes to the same answer. Times are epoch milliseconds.
 *
 * The rules are the CronJob controller's (kubernetes, pkg/controller/cronjob/utils.go), with these differences:
 *
 * - The first run is at creation, unless `startPolicy` says OnSchedule.
 * - Of the runs that were missed, the latest is always found. CronJob estimates it from the first two, and loses it for
 *   schedules like `0,1 2 * * *`.
 * - A tick that was missed for good (past `startingDeadlineSeconds`) is told of once, in `missed`.
 * - A `lastScheduleTime` in the future, as is left when the clock is set back, is mended (`lastScheduleTime` of the decision)
 *   instead of waited for.
 *
 * The caller writes `lastScheduleTime` and `missed` into the status, gives the Job of a run a name made from its `at`, and so
 * starts none twice; asks again when `wakeAfter` has passed, and at each change; and reads the wall clock each time.
 */
import * as Either from "effect/Either"
import * as Cron from "./Cron.ts"
import * as Occurrence from "./Occurrence.ts"
import * as TimeZone from "./TimeZone.ts"

/** A schedule in its time zone. */
export interface Timetable {
  readonly cron: Cron.Cron
  readonly zone: TimeZone.TimeZone
  /** For `status.effectiveSchedule`: what a `-random` nickname came to. */
  readonly effective: string
}

/** Why there is no timetable: a reason of the condition Ready, and a sentence that says what to write instead. */
export interface Refusal {
  readonly reason: "InvalidSchedule" | "UnknownTimeZone"
  readonly message: string
}

/**
 * Reads `spec.schedule` and `spec.timeZone`.
 *
 * @param options.of namespace and name of the Backup, such as `shop/cart`: what `-random` draws from
 */
export const parse = (
  schedule: string,
  options: { readonly of: string; readonly timeZone?: string | undefined }
): Either.Either<Timetable, Refusal> =>
  Either.gen(function* () {
    const { cron, effective } = yield* Either.mapLeft(Cron.parse(schedule, options.of), invalid)
    const zone =
      options.timeZone === undefined
        ? TimeZone.utc
        : yield* Either.mapLeft(
            TimeZone.find(options.timeZone),
            (message): Refusal => ({ reason: "UnknownTimeZone", message })
          )
    return Occurrence.isNever(cron)
      ? yield* Either.left(
          invalid(
            `schedule ${JSON.stringify(schedule)} never comes, since none of its months has its day of month: choose a day of month that is there`
          )
        )
      : { cron, zone, effective }
  })

const invalid = (message: string): Refusal => ({ reason: "InvalidSchedule", message })

/** How many runs were missed before the one that is due: none, up to 100, or more. */
export type Missed = "none" | "few" | "many"

const many = 100

/** The latest tick of a span. */
export interface Recent {
  readonly at: number
  /** `none` if it is the only one. */
  readonly missed: Missed
}

/** The latest tick strictly later than `after` and not later than `now`; undefined if there is none. */
export const mostRecent = (table: Timetable, after: number, now: number): Recent | undefined => {
  const at = Occurrence.latest(table.cron, table.zone, after, now)
  if (at === undefined) return undefined
  const count = Occurrence.count(table.cron, table.zone, after, now, many + 1)
  return { at, missed: count > many ? "many" : count > 1 ? "few" : "none" }
}

/**
 * The tick after the latest of the past, and so strictly later than `now`; undefined if there is none within five years.
 *
 * @param after the tick that ran last, or the creation
 */
export const following = (table: Timetable, after: number, now: number): number | undefined =>
  Occurrence.next(table.cron, table.zone, Occurrence.latest(table.cron, table.zone, after, now) ?? after)

/** What of a Backup decides when it runs. */
export interface Spec {
  /** Undefined: it runs once, at creation, and with `OnSchedule` never by itself. */
  readonly table: Timetable | undefined
  readonly suspend: boolean
  readonly startPolicy: "Immediately" | "OnSchedule"
  /** How late a run may begin, in seconds. Undefined: however late. The first run at creation has no deadline. */
  readonly startingDeadlineSeconds: number | undefined
}

/** What is known of a Backup's past. */
export interface Past {
  /** `metadata.creationTimestamp`. */
  readonly createdAt: number
  /** `status.lastScheduleTime`: the tick of the latest scheduled run that was begun or skipped. Undefined: none was. */
  readonly lastScheduleTime: number | undefined
  /** When the newest of the Jobs that still stand was scheduled. Only asked for when `lastScheduleTime` cannot be right. */
  readonly newestRun: number | undefined
  /** `status.lastMissedTime`: the latest tick of which it was told that it was missed for good. */
  readonly lastMissedTime: number | undefined
}

/** A scheduled run that should begin now. */
export interface Due {
  /** The tick; at the first run the creation, unless a tick has passed since. The same until it is in `lastScheduleTime`. */
  readonly at: number
  /** Many: worth a Warning TooManyMissedTimes. All of them are made up for by this one run. */
  readonly missed: Missed
}

/** What is to be done now. */
export interface Decision {
  readonly due: Due | undefined
  /**
   * The next tick, strictly later than `now`, for `status.nextBackupTime`. Undefined while suspended, without a schedule, or
   * with none within five years.
   */
  readonly next: number | undefined
  /** A tick that its deadline has passed by and that was not told of before: Warning MissedSchedule, to `lastMissedTime`. */
  readonly missed: number | undefined
  /**
   * The clock was set back: to be written to the status in the place of the `lastScheduleTime` from the future, before
   * anything is started, with a warning. Undefined: all is well.
   */
  readonly lastScheduleTime: number | undefined
}

/** How far in the future `lastScheduleTime` may be: clocks of two managers differ a little. */
const skew = 60_000

/** What is to be done now. See the top of this file. */
export const decide = (spec: Spec, past: Past, now: number): Decision => {
  const { table } = spec
  const last = past.lastScheduleTime
  // Of a Backup from the future that waits for its first tick, no tick would ever be later than its creation and no later than now.
  const waitsFrom = spec.startPolicy === "OnSchedule" ? past.createdAt : now
  const ahead = (last ?? waitsFrom) > now + skew
  // Never later than now, whatever the clock was when things were created: no tick may be postponed by it.
  const mended = Math.min(now, Math.max(past.createdAt, past.newestRun ?? past.createdAt))
  const after = ahead ? mended : (last ?? (past.createdAt > now + skew ? now : past.createdAt))
  const lastScheduleTime = ahead ? mended : undefined
  if (spec.suspend) return { due: undefined, next: undefined, missed: undefined, lastScheduleTime }

  const recent = table === undefined ? undefined : mostRecent(table, after, now)
  const next = table === undefined ? undefined : following(table, after, now)
  if (last === undefined && spec.startPolicy === "Immediately") {
    // With a tick since the creation, that one: a run for the creation would be followed by another for the tick at once.
    return { due: { at: recent?.at ?? after, missed: "none" }, next, missed: undefined, lastScheduleTime }
  }
  if (recent === undefined) return { due: undefined, next, missed: undefined, lastScheduleTime }
  const deadline = spec.startingDeadlineSeconds
  const late = deadline !== undefined && recent.at <= now - deadline * 1000
  if (!late) return { due: recent, next, missed: undefined, lastScheduleTime }
  const told = past.lastMissedTime !== undefined && recent.at <= past.lastMissedTime
  return { due: undefined, next, missed: told ? undefined : recent.at, lastScheduleTime }
}

/**
 * What becomes of a due run while another of the same Backup is active. `skip`: it is passed over, so that it goes to
 * `lastScheduleTime` with an event RunSkipped. `wait`: it is still wanted, and begins when the other ends, if that is within
 * `startingDeadlineSeconds`; without a deadline nobody said how late is too late, and a run is skipped rather than chased by
 * the next. `replace`: the other is ended first.
 */
export const overlap = (
  policy: "Forbid" | "Replace",
  startingDeadlineSeconds: number | undefined
): "skip" | "wait" | "replace" =>
  policy === "Replace" ? "replace" : startingDeadlineSeconds === undefined ? "skip" : "wait"

/**
 * The longest that a Backup sleeps. Timers run on a clock that knows nothing of the wall's being set, nor of the machine's
 * sleep: what is set forward is noticed within this time. It also is far from 2³¹ − 1 ms, after which timers fire at once.
 */
export const longestSleep = 3_600_000

/** Milliseconds until the decision should be taken again, given its `next`: 1 to `longestSleep`. */
export const wakeAfter = (next: number | undefined, now: number): number =>
  next === undefined ? longestSleep : Math.min(longestSleep, Math.max(1, next - now))
