/**
 * The times of a CronJob's schedule, as robfig/cron v3 computes them for a real CronJob. The API server has validated the schedule.
 *
 * A local time that a clock change skips does not occur on that day, and a local time that occurs twice runs twice.
 */

/** The matching fields of a schedule, or the milliseconds of `@every`. */
export type CronSchedule = Fields | number

interface Fields {
  readonly minutes: ReadonlySet<number>
  readonly hours: ReadonlySet<number>
  readonly days: ReadonlySet<number>
  readonly months: ReadonlySet<number>
  readonly weekdays: ReadonlySet<number>
  /** Whether a day must match both lists of days, because one of them is a star. */
  readonly bothDays: boolean
}

/** Returns the offset of the local time from UTC at a time; both in milliseconds. */
export type TimeZone = (at: number) => number

const second = 1000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour

/** The years that robfig/cron searches. */
const yearsAhead = 5

const nicknames: { readonly [nickname: string]: string } = {
  "@yearly": "0 0 1 1 *",
  "@annually": "0 0 1 1 *",
  "@monthly": "0 0 1 * *",
  "@weekly": "0 0 * * 0",
  "@daily": "0 0 * * *",
  "@midnight": "0 0 * * *",
  "@hourly": "0 * * * *"
}

const monthNames = ["", "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
const weekdayNames = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]

const units: { readonly [unit: string]: number } = {
  ns: 1e-6,
  us: 1e-3,
  ms: 1,
  s: second,
  m: minute,
  h: hour
}

/** Parses a valid schedule. */
export const parse = (schedule: string): CronSchedule => {
  const text = schedule.trim()
  if (text.startsWith("@every ")) {
    const millis = [...text.slice("@every ".length).matchAll(/([\d.]+)([a-z]+)/g)]
      .map(([, amount, unit = ""]) => Number(amount) * (units[unit] ?? 0))
      .reduce((sum, part) => sum + part, 0)
    return Math.max(second, Math.floor(millis / second) * second)
  }
  const [minutes = "", hours = "", days = "", months = "", weekdays = ""] = (nicknames[text] ?? text).split(/\s+/)
  return {
    minutes: field(minutes, 0, 59),
    hours: field(hours, 0, 23),
    days: field(days, 1, 31),
    months: field(months, 1, 12, monthNames),
    weekdays: field(weekdays, 0, 6, weekdayNames),
    bothDays: isStar(days) || isStar(weekdays)
  }
}

/** Whether a field is a star. For robfig/cron, a star with a step is not a star. */
const isStar = (text: string): boolean => text.split(",").some((part) => /^[*?](?:\/1)?$/.test(part))

const field = (text: string, least: number, most: number, names: ReadonlyArray<string> = []): ReadonlySet<number> => {
  const number = (word: string) => {
    const named = word === "" ? -1 : names.indexOf(word.toLowerCase())
    return named >= 0 ? named : Number(word)
  }
  const found = new Set<number>()
  for (const part of text.split(",")) {
    if (part === "") continue
    const [range = "", step] = part.split("/")
    const [from = "", to] = range.split("-")
    const any = from === "*" || from === "?"
    const start = any ? least : number(from)
    const end = any || (to === undefined && step !== undefined) ? most : number(to ?? from)
    for (let value = start; value <= end; value += step === undefined ? 1 : Number(step)) found.add(value)
  }
  return found
}

/** Returns the time zone with a name of the IANA database; undefined if the database does not have it. */
export const zone = (name: string): TimeZone | undefined => {
  if (name === "" || name === "UTC") return () => 0
  try {
    const format = new Intl.DateTimeFormat("en-US", {
      timeZone: name,
      calendar: "iso8601",
      numberingSystem: "latn",
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric"
    })
    return (at) => offset(format, at)
  } catch {
    return undefined
  }
}

const offset = (format: Intl.DateTimeFormat, at: number): number => {
  const whole = Math.floor(at / second) * second
  const parts: { [part: string]: number } = {}
  for (const { type, value } of format.formatToParts(whole)) parts[type] = Number(value)
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second: seconds = 0 } = parts
  return Date.UTC(year, month - 1, day, hour, minute, seconds) - whole
}

/** Returns the first time after `after`, in milliseconds since 1970; undefined if no time is within five years. */
export const next = (schedule: CronSchedule, offsetAt: TimeZone, after: number): number | undefined => {
  if (typeof schedule === "number") return Math.floor(after / second) * second + schedule
  const from = Math.floor(after / minute) * minute + minute
  const first = localDay(offsetAt, from)
  const lastYear = new Date(first * day).getUTCFullYear() + yearsAhead
  for (let date = first; ; date++) {
    const calendar = new Date(date * day)
    if (calendar.getUTCFullYear() > lastYear) return undefined
    const found = matches(schedule, calendar) ? firstOf(schedule, offsetAt, date, from) : undefined
    if (found !== undefined) return found
  }
}

const localDay = (offsetAt: TimeZone, at: number): number => Math.floor((at + offsetAt(at)) / day)

const matches = ({ bothDays, days, months, weekdays }: Fields, date: Date): boolean => {
  if (!months.has(date.getUTCMonth() + 1)) return false
  const month = days.has(date.getUTCDate())
  const week = weekdays.has(date.getUTCDay())
  return bothDays ? month && week : month || week
}

/** Returns the first time of a local date that is not before `from`. */
const firstOf = (fields: Fields, offsetAt: TimeZone, date: number, from: number): number | undefined => {
  for (let at = Math.max(startOf(offsetAt, date), from - hour); localDay(offsetAt, at) === date; ) {
    const before = offsetAt(at)
    const local = new Date(at + before)
    // If the clock does not change within an hour, the whole hour is skipped at once.
    const rest = hour - local.getUTCMinutes() * minute
    if (!fields.hours.has(local.getUTCHours()) && offsetAt(at + rest - minute) === before) {
      at += rest
      continue
    }
    if (at >= from && fields.hours.has(local.getUTCHours()) && fields.minutes.has(local.getUTCMinutes())) return at
    at += minute
  }
  return undefined
}

/** Returns the first minute of a local date. Offsets and their changes are multiples of 15 minutes. */
const startOf = (offsetAt: TimeZone, date: number): number => {
  let at = date * day - offsetAt(date * day - day)
  while (localDay(offsetAt, at) >= date) at -= 15 * minute
  while (localDay(offsetAt, at) < date) at += 15 * minute
  return at
}

/** The number of missed runs before the latest one: none, a few, or more than a hundred. */
export type Missed = "none" | "few" | "many"

/** The latest time that is due. */
export interface Recent {
  /** Undefined: no time is due. */
  readonly at: number | undefined
  readonly missed: Missed
  /** Whether the schedule has fewer than two different times. */
  readonly isInvalid: boolean
}

/** The time of a schedule that never runs, as Go's zero time. */
const never = Date.UTC(1, 0, 1) - 1970 * 365 * day

/** Returns the latest time after `earliest` and not after `now`, estimated as the real controller does. */
export const mostRecent = (schedule: CronSchedule, offsetAt: TimeZone, earliest: number, now: number): Recent => {
  const following = (at: number) => next(schedule, offsetAt, at) ?? never
  const first = following(earliest)
  const none: Recent = { at: undefined, missed: "none", isInvalid: false }
  if (now < first) return none
  const then = first === never ? never : following(first)
  if (now < then) return { ...none, at: first }
  const between = Math.round((then - first) / second)
  if (between < 1) return { ...none, isInvalid: true }
  const count = Math.floor(Math.floor((now - first) / second) / between) + 1
  let found: number | undefined
  for (let at = following(first + (count - 2) * between * second); at !== never && at <= now; at = following(at)) {
    found = at
  }
  return { at: found, missed: count > 100 ? "many" : count > 0 ? "few" : "none", isInvalid: false }
}
