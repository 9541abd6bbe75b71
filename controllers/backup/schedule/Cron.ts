/**
 * Parses a Backup's `schedule`: the five fields and nicknames of robfig/cron, which CronJobs use too, and nicknames that end with
 * `-random`. Pure; Occurrence.ts computes the times.
 *
 * It parses like `ParseStandard` of robfig/cron v3 (github.com/robfig/cron, parser.go), but rejects texts that robfig reads
 * differently than they look: `*-5` (equal to `*`), `+5`, a field of only commas, `@every` with zero or less.
 */
import * as Result from "effect/Result"

/** The matching minutes, hours, days and months. Each list is sorted, without duplicates and never empty. */
export interface Fields {
  readonly _tag: "Fields"
  /** 0 to 59. */
  readonly minutes: ReadonlyArray<number>
  /** 0 to 23. */
  readonly hours: ReadonlyArray<number>
  /** 1 to 31. */
  readonly daysOfMonth: ReadonlyArray<number>
  /** 1 to 12. */
  readonly months: ReadonlyArray<number>
  /** 0 (Sunday) to 6. */
  readonly daysOfWeek: ReadonlyArray<number>
  /** Whether a day must match both lists of days, because one of them is a star. Otherwise one match is enough. */
  readonly bothDays: boolean
}

/** A fixed time after the previous run. */
export interface Every {
  readonly _tag: "Every"
  /** Whole seconds, at least one. */
  readonly millis: number
}

/** A schedule without a time zone. */
export type Cron = Fields | Every

/** A parsed schedule. */
export interface Parsed {
  readonly cron: Cron
  /** The effective schedule: five fields for a `-random` nickname, otherwise the trimmed text. */
  readonly effective: string
}

interface Field {
  readonly name: string
  readonly min: number
  readonly max: number
  /** Names for the numbers from `min` on. */
  readonly names?: ReadonlyArray<string>
}

const minute: Field = { name: "minute", min: 0, max: 59 }
const hour: Field = { name: "hour", min: 0, max: 23 }
const dayOfMonth: Field = { name: "day of month", min: 1, max: 31 }
const month: Field = {
  name: "month",
  min: 1,
  max: 12,
  names: ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
}
const dayOfWeek: Field = {
  name: "day of week",
  min: 0,
  max: 6,
  names: ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
}
const order = "minute hour day-of-month month day-of-week"

const nicknames: { readonly [nickname: string]: string } = {
  "@yearly": "0 0 1 1 *",
  "@annually": "0 0 1 1 *",
  "@monthly": "0 0 1 * *",
  "@weekly": "0 0 * * 0",
  "@daily": "0 0 * * *",
  "@midnight": "0 0 * * *",
  "@hourly": "0 * * * *"
}
const randomSuffix = "-random"

/**
 * Parses a schedule.
 *
 * @param of the owner, such as `shop/cart`: the seed of `-random`, so that the result is always the same
 * @returns Failure: a message with the field and what is accepted
 */
export const parse = (text: string, of: string): Result.Result<Parsed, string> => {
  const schedule = text.trim()
  if (/^(CRON_)?TZ=/.test(schedule)) {
    return Result.fail(`invalid schedule: ${quote(text)} (must not have a time zone; use timeZone)`)
  }
  if (!schedule.startsWith("@")) {
    return Result.map(parseFields(schedule), (cron) => ({ cron, effective: schedule }))
  }
  if (/^@every\s/.test(schedule)) {
    return Result.map(parseEvery(schedule), (cron) => ({ cron, effective: schedule }))
  }
  const random = schedule.endsWith(randomSuffix)
  const nickname = random ? schedule.slice(0, -randomSuffix.length) : schedule
  const fields = nicknames[nickname]
  if (fields === undefined) {
    return Result.fail(
      `invalid schedule: ${quote(text)} (must be one of ${Object.keys(nicknames).join(", ")}, with or without ${randomSuffix}, or @every with a duration such as @every 6h)`
    )
  }
  const effective = random ? drawn(fields, of) : fields
  return Result.map(parseFields(effective), (cron) => ({ cron, effective: random ? effective : schedule }))
}

/**
 * The fields of a nickname, with numbers drawn from the owner's name to spread the load. Each number uses another word of the digest,
 * so that minute and hour are independent. The day is at most the 27th, which every month has.
 */
const drawn = (fields: string, of: string): string => {
  const digest = Bun.CryptoHasher.hash("sha1", `${of}@${fields}`)
  const spans = [60, 24, 27, 12, 7]
  return fields
    .split(" ")
    .map((field, at) => {
      const lowest = at === 2 || at === 3 ? 1 : 0
      return field === "*" ? field : `${lowest + (digest.readUInt32BE(at * 4) % (spans[at] ?? 1))}`
    })
    .join(" ")
}

const parseFields = (schedule: string): Result.Result<Fields, string> => {
  const texts = schedule === "" ? [] : schedule.split(/\s+/)
  const [minutes, hours, daysOfMonth, months, daysOfWeek, ...more] = texts
  if (
    minutes === undefined ||
    hours === undefined ||
    daysOfMonth === undefined ||
    months === undefined ||
    daysOfWeek === undefined ||
    more.length > 0
  ) {
    const seconds = texts.length === 6 ? " without seconds" : ""
    return Result.fail(
      `invalid schedule: ${quote(schedule)} (must have five fields${seconds}: ${order}, such as "0 2 * * *" for 02:00 each day)`
    )
  }
  return Result.gen(function* () {
    const days = yield* parseField(daysOfMonth, dayOfMonth)
    const weekdays = yield* parseField(daysOfWeek, dayOfWeek)
    return {
      _tag: "Fields" as const,
      minutes: (yield* parseField(minutes, minute)).values,
      hours: (yield* parseField(hours, hour)).values,
      daysOfMonth: days.values,
      months: (yield* parseField(months, month)).values,
      daysOfWeek: weekdays.values,
      bothDays: days.star || weekdays.star
    }
  }).pipe(Result.mapError((problem) => `invalid schedule: ${quote(schedule)} (${problem})`))
}

interface Values {
  readonly values: ReadonlyArray<number>
  readonly star: boolean
}

const parseField = (text: string, field: Field): Result.Result<Values, string> => {
  const found = new Set<number>()
  let star = false
  // Two commas in a row are one, as in robfig.
  const ranges = text.split(",").filter((range) => range !== "")
  if (ranges.length === 0) return Result.fail(`${field.name} ${quote(text)} ${accepted(field)}`)
  for (const expression of ranges) {
    const range = parseRange(expression, field)
    if (Result.isFailure(range)) return Result.fail(range.failure)
    const { from, to, step } = range.success
    star ||= range.success.star
    for (let value = from; value <= to; value += step) found.add(value)
  }
  return Result.succeed({ values: [...found].sort((left, right) => left - right), star })
}

interface Range {
  readonly from: number
  readonly to: number
  readonly step: number
  readonly star: boolean
}

const parseRange = (text: string, field: Field): Result.Result<Range, string> => {
  const refuse = (problem: string) => Result.fail(`${field.name} ${quote(text)} ${problem}`)
  const parts = /^([^/-]*)(?:-([^/-]*))?(?:\/([^/-]*))?$/.exec(text)
  if (parts === null) return refuse(accepted(field))
  const [, low = "", high, stride] = parts
  const star = low === "*" || low === "?"
  if (star && high !== undefined) return refuse(`must be ${low} alone, or two numbers with a dash`)

  const from = star ? field.min : numberOf(low, field)
  if (from === undefined) return refuse(accepted(field))
  // `5/15` is 5-59/15: a step without an end continues to the maximum.
  const to = star || (high === undefined && stride !== undefined) ? field.max : numberOf(high ?? low, field)
  if (to === undefined) return refuse(accepted(field))
  const step = stride === undefined ? 1 : /^\d+$/.test(stride) ? Number(stride) : undefined
  if (step === undefined || step === 0) return refuse("must have a step of at least 1 after the slash")
  if (from < field.min || to > field.max) {
    return refuse(field === dayOfWeek && to === 7 ? "must be 0 to 6, and Sunday is 0" : accepted(field))
  }
  if (from > to) {
    return refuse(`must not end before it begins; write ${from}-${field.max},${field.min}-${to}`)
  }
  // With a step, robfig does not treat it as a star, so the other field of days also matches alone.
  return Result.succeed({ from, to, step, star: star && step === 1 })
}

const numberOf = (text: string, field: Field): number | undefined => {
  const name = field.names?.indexOf(text.toLowerCase()) ?? -1
  if (name >= 0) return field.min + name
  return /^\d+$/.test(text) ? Number(text) : undefined
}

const accepted = ({ min, max, names }: Field): string => {
  const [first, last] = [names?.[0], names?.at(-1)]
  const named = first === undefined || last === undefined ? "" : ` or ${first.toUpperCase()} to ${last.toUpperCase()}`
  return `must be ${min} to ${max}${named}, as * or 1,2 or 1-5 or */2`
}

const units: { readonly [unit: string]: number } = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000
}

/** The longest Go duration in hours; robfig rejects longer ones too. */
const longestHours = 2_562_047

/** Go's durations, rounded down to whole seconds, at least one, as in robfig. */
const parseEvery = (schedule: string): Result.Result<Every, string> => {
  const text = schedule.replace(/^@every\s+/, "")
  const refuse = (problem: string) =>
    Result.fail(`invalid schedule: ${quote(schedule)} (${problem}, such as @every 6h or @every 1h30m)`)
  const parts = Array.from(text.matchAll(/(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)/gy))
  if (text === "" || parts.reduce((length, [part]) => length + part.length, 0) !== text.length) {
    return refuse(`must have a duration in hours, minutes and seconds`)
  }
  let millis = 0
  for (const [, amount = "", unit = ""] of parts) {
    millis += Number(amount) * (units[unit] ?? 0)
  }
  if (millis === 0) return refuse("must be longer than 0")
  if (millis > longestHours * 3_600_000) return refuse(`must be at most ${longestHours}h`)
  return Result.succeed({ _tag: "Every", millis: Math.max(1000, Math.floor(millis / 1000) * 1000) })
}

const quote = (text: string): string => JSON.stringify(text)
