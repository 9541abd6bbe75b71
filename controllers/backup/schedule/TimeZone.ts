/** The local time in a time zone, from the time zone database in the program (`Intl`). Pure. */
import * as Result from "effect/Result"

/** A time zone. */
export interface TimeZone {
  /** A name of the IANA database, such as `Europe/Berlin`. */
  readonly name: string
  /** The offset of the local time from UTC in milliseconds, at a time in epoch milliseconds. */
  readonly offset: (at: number) => number
}

/** The default zone of a Backup: never that of the process, which differs between pods. */
export const utc: TimeZone = { name: "UTC", offset: () => 0 }

/** A formatter costs about 50 µs, and reconciles are frequent. Bounded by the number of names in the database. */
const known = new Map<string, TimeZone>([["UTC", utc]])
const mostKnown = 1000

/**
 * The zone with this name.
 *
 * @returns Failure: a message with a suggested name
 */
export const find = (name: string): Result.Result<TimeZone, string> => {
  const before = known.get(name)
  if (before !== undefined) return Result.succeed(before)
  // Intl accepts offsets such as +02:00 too; they have no daylight saving, and CronJobs reject them.
  const format = /^[A-Za-z]/.test(name) ? formatOf(name) : undefined
  if (format === undefined) {
    const meant = Intl.supportedValuesOf("timeZone").find((zone) =>
      zone.toLowerCase().endsWith(`/${name.trim().toLowerCase().replaceAll(" ", "_")}`)
    )
    return Result.fail(
      `unknown timeZone: ${JSON.stringify(name)} (must be a name of the IANA database, such as ${meant ?? "Europe/Berlin"}; the default is UTC)`
    )
  }
  const zone: TimeZone = { name, offset: (at) => offsetOf(format, at) }
  // Names differ in upper and lower case, so many spellings must not fill the memory.
  if (known.size < mostKnown) known.set(name, zone)
  return Result.succeed(zone)
}

const formatOf = (timeZone: string): Intl.DateTimeFormat | undefined => {
  try {
    return new Intl.DateTimeFormat("en-US", {
      timeZone,
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
  } catch {
    // Intl throws a RangeError for an unknown zone.
    return undefined
  }
}

const offsetOf = (format: Intl.DateTimeFormat, at: number): number => {
  const seconds = Math.floor(at / 1000) * 1000
  const parts: { [part: string]: number } = {}
  for (const { type, value } of format.formatToParts(seconds)) parts[type] = Number(value)
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts
  return Date.UTC(year, month - 1, day, hour, minute, second) - seconds
}
