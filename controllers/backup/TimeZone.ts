/** What the clocks on the wall say in a place, from the time zone database that the program carries (`Intl`). Pure. */
import * as Either from "effect/Either"

/** A time zone. */
export interface TimeZone {
  /** A name of the IANA database, such as `Europe/Berlin`. */
  readonly name: string
  /** What the local time is ahead of UTC, in milliseconds, at a moment in epoch milliseconds. */
  readonly offset: (at: number) => number
}

/** The zone of a Backup that names none: never that of the process, which differs from pod to pod. */
export const utc: TimeZone = { name: "UTC", offset: () => 0 }

/** A formatter costs some 50 µs, and reconciles come often. Holds no more than the database has names in the spelling given. */
const known = new Map<string, TimeZone>([["UTC", utc]])
const mostKnown = 1000

/**
 * The zone of a name.
 *
 * @returns Left: one sentence for a person, with the name that may have been meant
 */
export const find = (name: string): Either.Either<TimeZone, string> => {
  const before = known.get(name)
  if (before !== undefined) return Either.right(before)
  // Intl takes offsets such as +02:00 too; they have no daylight saving, and CronJobs refuse them.
  const format = /^[A-Za-z]/.test(name) ? formatOf(name) : undefined
  if (format === undefined) {
    const meant = Intl.supportedValuesOf("timeZone").find((zone) =>
      zone.toLowerCase().endsWith(`/${name.trim().toLowerCase().replaceAll(" ", "_")}`)
    )
    return Either.left(
      `timeZone ${JSON.stringify(name)} is unknown: use a name of the IANA database, such as ${meant ?? "Europe/Berlin"}, or leave it out for UTC`
    )
  }
  const zone: TimeZone = { name, offset: (at) => offsetOf(format, at) }
  // Names differ in upper and lower case, so there are many spellings: an odd cluster must not fill the memory.
  if (known.size < mostKnown) known.set(name, zone)
  return Either.right(zone)
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
    // A RangeError is how Intl says that it does not know the zone.
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
