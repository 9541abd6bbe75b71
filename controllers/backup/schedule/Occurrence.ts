/**
 * The times of a schedule in a time zone. Pure: reads no clock; times are epoch milliseconds.
 *
 * - A local time that a clock change skips does not occur on that day: 02:30 in New York on 2026-03-08.
 * - A local time that occurs twice runs twice: 01:30 in New York on 2026-11-01, at 05:30Z and 06:30Z.
 * - On a day with a clock change of half an hour (Lord Howe), later hours count from midnight. Some of their times are skipped: 03:00
 *   occurs on 2026-10-04, but not 03:45.
 *
 * These rules are robfig/cron's, tested by the vectors of `cron-vectors.fixture.json`. Unlike there, the result does not depend on
 * the start of the search. It never decreases when `after` grows, so that `latest` can use binary search. A day without a midnight is
 * not lost. Compared with robfig/cron 3.0.1 on 12,000 random schedules, half of them around a clock change (2026-11-21): equal,
 * except on such days of Lord Howe, and of Chatham, whose clocks change in the middle of an hour.
 */
import type { Cron, Fields } from "./Cron.ts"
import type { TimeZone } from "./TimeZone.ts"

const second = 1000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour

/** As far as robfig searches. Only 29 February around the year 2100 is rarer. */
const yearsAhead = 5

/**
 * The first time strictly after `after`; undefined if none follows before the end of the fifth year from there.
 *
 * `@every` counts from `after`, which should be the previous run; the result is a whole second.
 */
export const next = (cron: Cron, zone: TimeZone, after: number): number | undefined => {
  if (cron._tag === "Every") return Math.floor(after / second) * second + cron.millis
  const from = Math.floor(after / minute) * minute + minute
  const first = localDay(zone, from)
  const lastYear = new Date(first * day).getUTCFullYear() + yearsAhead
  for (let date = first; ; date += 1) {
    const calendar = new Date(date * day)
    if (calendar.getUTCFullYear() > lastYear) return undefined
    if (!hasDay(cron, calendar)) continue
    const found = firstOfDay(cron, zone, date, from)
    if (found !== undefined) return found
  }
}

/** The last time strictly after `after` and not after `now`; undefined if no time matches. `@every` counts from `after`. */
export const latest = (cron: Cron, zone: TimeZone, after: number, now: number): number | undefined => {
  const first = next(cron, zone, after)
  if (first === undefined || first > now) return undefined
  if (cron._tag === "Every") return first + Math.floor((now - first) / cron.millis) * cron.millis
  // Binary search for the last minute whose next time is not after now; `next` never decreases.
  let low = Math.floor((first - 1) / minute)
  let high = Math.floor(now / minute)
  let found = first
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    const moment = next(cron, zone, middle * minute)
    if (moment !== undefined && moment <= now) {
      low = middle
      found = moment
    } else {
      high = middle - 1
    }
  }
  return found
}

/** The number of times after `after` and not after `now`, at most `most`. */
export const count = (cron: Cron, zone: TimeZone, after: number, now: number, most: number): number => {
  let found = 0
  let moment = next(cron, zone, after)
  while (found < most && moment !== undefined && moment <= now) {
    found += 1
    moment = next(cron, zone, moment)
  }
  return found
}

/** Whether a schedule has no times, such as 30 February. Only the fields for days can cause that. */
export const isNever = (cron: Cron): boolean =>
  cron._tag === "Fields" &&
  cron.bothDays &&
  !cron.months.some((month) => cron.daysOfMonth.some((date) => date <= (daysOf[month - 1] ?? 31)))

const daysOf = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

/** The times between two runs, in milliseconds, without daylight saving. */
export interface Gaps {
  readonly shortest: number
  readonly longest: number
}

/**
 * The shortest and the longest time between two runs: one and three days for `0 2 * * 1-5`. Undefined for a schedule without times.
 * The search covers years with three 29ths of February, which takes about a millisecond: call it once per generation.
 */
export const gaps = (cron: Cron): Gaps | undefined => {
  if (cron._tag === "Every") return { shortest: cron.millis, longest: cron.millis }
  const times = cron.hours.flatMap((hours) => cron.minutes.map((minutes) => hours * hour + minutes * minute))
  const [first = 0, last = 0] = [times[0], times.at(-1)]
  const found: Array<number> = times.slice(1).map((time, at) => time - (times[at] ?? 0))
  let before: number | undefined
  for (let date = Date.UTC(2024, 0, 1); date < Date.UTC(2033, 0, 1); date += day) {
    if (!hasDay(cron, new Date(date))) continue
    if (before !== undefined) found.push(date + first - (before + last))
    before = date
  }
  return before === undefined
    ? undefined
    : found.reduce<Gaps>(
        ({ shortest, longest }, gap) => ({ shortest: Math.min(shortest, gap), longest: Math.max(longest, gap) }),
        { shortest: Number.POSITIVE_INFINITY, longest: 0 }
      )
}

/** Whether a date matches; the date is its midnight in UTC. */
const hasDay = (cron: Fields, date: Date): boolean => {
  if (!cron.months.includes(date.getUTCMonth() + 1)) return false
  const month = cron.daysOfMonth.includes(date.getUTCDate())
  const week = cron.daysOfWeek.includes(date.getUTCDay())
  return cron.bothDays ? month && week : month || week
}

/** The first time on a local date that is not before `from`. */
const firstOfDay = (cron: Fields, zone: TimeZone, date: number, from: number): number | undefined => {
  const midnight = date * day
  const offset = zone.offset(midnight - day)
  // Nearly every day: no clock change a day before or after (offsets are at most 14 hours).
  if (offset === zone.offset(midnight + 2 * day) && offset === zone.offset(midnight + day / 2)) {
    for (const hours of cron.hours) {
      const begin = midnight - offset + hours * hour
      if (begin + hour <= from) continue
      for (const minutes of cron.minutes) if (begin + minutes * minute >= from) return begin + minutes * minute
    }
    return undefined
  }
  const start = startOfDay(zone, date)
  for (let hours = start; localDay(zone, hours) === date; hours += hour) {
    if (hours + 2 * hour <= from) continue
    const clock = local(zone, hours)
    // The offset is read per minute only in the hour of the change; a whole day would cost milliseconds.
    const found =
      zone.offset(hours) !== zone.offset(hours + hour)
        ? walked(cron, zone, hours, from)
        : cron.hours.includes(clock.getUTCHours())
          ? cron.minutes
              .filter((minutes) => minutes >= clock.getUTCMinutes())
              .map((minutes) => hours + (minutes - clock.getUTCMinutes()) * minute)
              .find((at) => at >= from)
          : undefined
    if (found !== undefined) return found
  }
  return undefined
}

/** The first time in the sixty minutes from `begin` that is not before `from`, by the local time of each minute. */
const walked = (cron: Fields, zone: TimeZone, begin: number, from: number): number | undefined => {
  for (let at = begin; at < begin + hour; at += minute) {
    const clock = local(zone, at)
    if (at >= from && cron.hours.includes(clock.getUTCHours()) && cron.minutes.includes(clock.getUTCMinutes()))
      return at
  }
  return undefined
}

/** The first time of a local date; for a skipped date (Samoa, 2011-12-30), that of the next date. */
const startOfDay = (zone: TimeZone, date: number): number => {
  let at = date * day - 15 * hour
  while (localDay(zone, at + hour) < date) at += hour
  // Offsets and their changes are multiples of 15 minutes since 1972; schedules do not need earlier times.
  while (localDay(zone, at) < date) at += 15 * minute
  return at
}

/** A date whose UTC fields have the local time of the zone. */
const local = (zone: TimeZone, at: number): Date => new Date(at + zone.offset(at))

/** The local date as days since 1970-01-01. */
const localDay = (zone: TimeZone, at: number): number => Math.floor((at + zone.offset(at)) / day)
