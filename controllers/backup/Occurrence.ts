/**
 * The moments at which a schedule comes in a time zone. Pure: no clock is read, times are epoch milliseconds.
 *
 * - A local time that a change of the clocks leaves out does not come on that day: 02:30 in New York on 2026-03-08.
 * - A local time that comes twice runs twice: 01:30 in New York on 2026-11-01, at 05:30Z and 06:30Z.
 * - On a day on which the clocks move by half an hour (Lord Howe), the hours that follow are counted in full ones from
 *   midnight, so that those times of them which have passed by then are left out: 03:00 on 2026-10-04, but not 03:45.
 *
 * All three are robfig/cron's, by the vectors of `cron-vectors.fixture.json`. Unlike there, the answer does not depend on where
 * the search begins: it never falls when `after` grows, so that `latest` can halve; and a day without a midnight is not lost.
 * Compared with robfig/cron 3.0.1 on 12,000 drawn schedules, half of them around a change of the clocks (2026-11-21): the same
 * but on such days of Lord Howe, and of Chatham, whose clocks change in the middle of an hour.
 */
import type { Cron, Fields } from "./Cron.ts"
import type { TimeZone } from "./TimeZone.ts"

const second = 1000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour

/** As far as robfig looks ahead. Only 29 February in the years around 2100 is rarer. */
const yearsAhead = 5

/**
 * The first moment strictly later than `after`; undefined if there is none until the end of the fifth year from there.
 *
 * `@every` counts from `after`, which should thus be the run before; the answer is on a whole second.
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

/**
 * The last moment that is strictly later than `after` and not later than `now`; undefined if there is none. `@every` counts
 * from `after`.
 */
export const latest = (cron: Cron, zone: TimeZone, after: number, now: number): number | undefined => {
  const first = next(cron, zone, after)
  if (first === undefined || first > now) return undefined
  if (cron._tag === "Every") return first + Math.floor((now - first) / cron.millis) * cron.millis
  // The greatest minute whose next moment is not past now; `next` never falls, so that halving finds it.
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

/** How many moments are later than `after` and not later than `now`, counted up to `most`. */
export const count = (cron: Cron, zone: TimeZone, after: number, now: number, most: number): number => {
  let found = 0
  let moment = next(cron, zone, after)
  while (found < most && moment !== undefined && moment <= now) {
    found += 1
    moment = next(cron, zone, moment)
  }
  return found
}

/** Whether a schedule never comes, such as on 30 February. The other fields always find a time. */
export const isNever = (cron: Cron): boolean =>
  cron._tag === "Fields" &&
  cron.bothDays &&
  !cron.months.some((month) => cron.daysOfMonth.some((date) => date <= (daysOf[month - 1] ?? 31)))

const daysOf = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

/** The times between one run and the next, in milliseconds, by a calendar without daylight saving. */
export interface Gaps {
  readonly shortest: number
  readonly longest: number
}

/**
 * The shortest and the longest time between two runs: a day and three for `0 2 * * 1-5`. Undefined for a schedule that never
 * comes. Looks at a span of years with three 29ths of February, which takes about a millisecond: for once per generation.
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

/** Whether a date counts, given as its midnight in UTC. */
const hasDay = (cron: Fields, date: Date): boolean => {
  if (!cron.months.includes(date.getUTCMonth() + 1)) return false
  const month = cron.daysOfMonth.includes(date.getUTCDate())
  const week = cron.daysOfWeek.includes(date.getUTCDay())
  return cron.bothDays ? month && week : month || week
}

/** The first moment of a local date that is not earlier than `from`. */
const firstOfDay = (cron: Fields, zone: TimeZone, date: number, from: number): number | undefined => {
  const midnight = date * day
  const offset = zone.offset(midnight - day)
  // Nearly each day: nothing happens to the clocks a day before or after (offsets are at most 14 hours).
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
    // One look at the clocks per minute is for the hour in which they change; a day of such looks would cost milliseconds.
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

/** The first moment of the sixty minutes from `begin` that is not earlier than `from`, by what the clocks show in each. */
const walked = (cron: Fields, zone: TimeZone, begin: number, from: number): number | undefined => {
  for (let at = begin; at < begin + hour; at += minute) {
    const clock = local(zone, at)
    if (at >= from && cron.hours.includes(clock.getUTCHours()) && cron.minutes.includes(clock.getUTCMinutes()))
      return at
  }
  return undefined
}

/** The first moment of a local date; where the date was left out (Samoa, 2011-12-30), the first of the one after. */
const startOfDay = (zone: TimeZone, date: number): number => {
  let at = date * day - 15 * hour
  while (localDay(zone, at + hour) < date) at += hour
  // Offsets and their changes are whole quarters of an hour since 1972; before, nothing was scheduled.
  while (localDay(zone, at) < date) at += 15 * minute
  return at
}

/** A date whose UTC parts are what the clocks in the zone show. */
const local = (zone: TimeZone, at: number): Date => new Date(at + zone.offset(at))

/** The local date as days since 1970-01-01. */
const localDay = (zone: TimeZone, at: number): number => Math.floor((at + zone.offset(at)) / day)
