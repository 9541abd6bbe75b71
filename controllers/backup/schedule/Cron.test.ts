import { describe, expect, test } from "bun:test"
import * as Result from "effect/Result"
import * as Cron from "./Cron.ts"

const fields = (schedule: string, of = "shop/cart") => Result.getOrUndefined(Cron.parse(schedule, of))?.cron
const effective = (schedule: string, of = "shop/cart") => Result.getOrUndefined(Cron.parse(schedule, of))?.effective
const refusal = (schedule: string) => Result.getOrUndefined(Result.flip(Cron.parse(schedule, "shop/cart")))

describe("Cron.parse reads five fields", () => {
  const all = {
    _tag: "Fields" as const,
    minutes: [0],
    hours: [0],
    daysOfMonth: Array.from({ length: 31 }, (_, at) => at + 1),
    months: Array.from({ length: 12 }, (_, at) => at + 1),
    daysOfWeek: [0, 1, 2, 3, 4, 5, 6],
    bothDays: true
  }
  const table: ReadonlyArray<readonly [string, Cron.Cron]> = [
    ["0 0 * * *", all],
    ["0 0 ? * ?", all],
    ["5/15 0 * * *", { ...all, minutes: [5, 20, 35, 50] }],
    ["10-30/10,,7 0 * * *", { ...all, minutes: [7, 10, 20, 30] }],
    ["0 0 * Jan,jul *", { ...all, months: [1, 7] }],
    ["0 0 * * MON-fri", { ...all, daysOfWeek: [1, 2, 3, 4, 5] }],
    ["0 0 13 * 5", { ...all, daysOfMonth: [13], daysOfWeek: [5], bothDays: false }],
    ["0 0 */1 * 5", { ...all, daysOfWeek: [5] }],
    ["0 0 */16 * 5", { ...all, daysOfMonth: [1, 17], daysOfWeek: [5], bothDays: false }]
  ]
  test("with the names of months and weekdays", () => {
    const months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
    for (const [at, name] of months.entries()) {
      expect(fields(`0 0 * ${name} *`)).toEqual({ ...all, months: [at + 1] })
    }
    for (const [at, name] of ["sun", "mon", "tue", "wed", "thu", "fri", "sat"].entries()) {
      expect(fields(`0 0 * * ${name}`)).toEqual({ ...all, daysOfWeek: [at], bothDays: true })
    }
  })
  for (const [schedule, cron] of table) test(schedule, () => expect(fields(schedule)).toEqual(cron))
})

describe("Cron.parse reads", () => {
  for (const [text, millis] of [
    ["@every 1h30m", 5_400_000],
    ["@every 1.5h", 5_400_000],
    ["@every 500ms", 1000],
    ["@every 2500ms", 2000],
    ["@every 2500000us", 2000],
    ["@every 2500000µs", 2000],
    ["@every 2500000μs", 2000],
    ["@every 2500000000ns", 2000],
    ["@every 2562047h", 9_223_369_200_000]
  ] as const) {
    test(`${text} is ${millis} ms`, () => expect(fields(text)).toEqual({ _tag: "Every", millis }))
  }
})

describe("A -random nickname", () => {
  test("is stable for one Backup, and differs between Backups", () => {
    expect(effective("@daily-random")).toBe("41 1 * * *")
    expect(effective("@daily-random", "shop/till")).not.toBe(effective("@daily-random"))
  })
  test("is the same for both names of a nickname", () => {
    expect(effective("@midnight-random")).toBe(effective("@daily-random"))
    expect(effective("@annually-random")).toBe(effective("@yearly-random"))
  })
  test("draws each value of each field, and only days that every month has", () => {
    const drawn = {
      minutes: new Set<number>(),
      hours: new Set<number>(),
      days: new Set<number>(),
      weekdays: new Set<number>()
    }
    for (let index = 0; index < 2000; index += 1) {
      const year = fields("@yearly-random", `shop/${index}`)
      const week = fields("@weekly-random", `shop/${index}`)
      if (year?._tag !== "Fields" || week?._tag !== "Fields") throw new Error("no fields")
      for (const minute of year.minutes) drawn.minutes.add(minute)
      for (const hour of year.hours) drawn.hours.add(hour)
      for (const date of year.daysOfMonth) drawn.days.add(date)
      for (const weekday of week.daysOfWeek) drawn.weekdays.add(weekday)
    }
    const sizes = Object.values(drawn).map((values) => [values.size, Math.max(...values)])
    expect(sizes).toEqual([
      [60, 59],
      [24, 23],
      [27, 27],
      [7, 6]
    ])
  })
  test("keeps the stars of the nickname", () => expect(effective("@hourly-random")).toMatch(/^\d+ \* \* \* \*$/))
  test("does not affect other schedules", () => {
    expect(effective(" 0 2 * * * ")).toBe("0 2 * * *")
    expect(effective("@daily")).toBe("@daily")
  })
})

describe("Cron.parse rejects", () => {
  const table: ReadonlyArray<readonly [string, string]> = [
    ["60 * * * *", 'invalid schedule: "60 * * * *" (minute "60" must be 0 to 59, as * or 1,2 or 1-5 or */2)'],
    ["0 24 * * *", 'invalid schedule: "0 24 * * *" (hour "24" must be 0 to 23, as * or 1,2 or 1-5 or */2)'],
    ["0 0 0 * *", 'invalid schedule: "0 0 0 * *" (day of month "0" must be 1 to 31, as * or 1,2 or 1-5 or */2)'],
    [
      "0 0 * Foo *",
      'invalid schedule: "0 0 * Foo *" (month "Foo" must be 1 to 12 or JAN to DEC, as * or 1,2 or 1-5 or */2)'
    ],
    ["0 0 * * 7", 'invalid schedule: "0 0 * * 7" (day of week "7" must be 0 to 6, and Sunday is 0)'],
    ["5-1 * * * *", 'invalid schedule: "5-1 * * * *" (minute "5-1" must not end before it begins; write 5-59,0-1)'],
    ["*/0 * * * *", 'invalid schedule: "*/0 * * * *" (minute "*/0" must have a step of at least 1 after the slash)'],
    ["*-5 * * * *", 'invalid schedule: "*-5 * * * *" (minute "*-5" must be * alone, or two numbers with a dash)'],
    ["1-2-3 * * * *", 'invalid schedule: "1-2-3 * * * *" (minute "1-2-3" must be 0 to 59, as * or 1,2 or 1-5 or */2)'],
    [", * * * *", 'invalid schedule: ", * * * *" (minute "," must be 0 to 59, as * or 1,2 or 1-5 or */2)'],
    [
      "* * * *",
      'invalid schedule: "* * * *" (must have five fields: minute hour day-of-month month day-of-week, such as "0 2 * * *" for 02:00 each day)'
    ],
    [
      "0 0 0 * * *",
      'invalid schedule: "0 0 0 * * *" (must have five fields without seconds: minute hour day-of-month month day-of-week, such as "0 2 * * *" for 02:00 each day)'
    ],
    [
      "@Daily",
      'invalid schedule: "@Daily" (must be one of @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly, with or without -random, or @every with a duration such as @every 6h)'
    ],
    [
      "TZ=Europe/Berlin 0 2 * * *",
      'invalid schedule: "TZ=Europe/Berlin 0 2 * * *" (must not have a time zone; use timeZone)'
    ],
    [
      "@every 1d",
      'invalid schedule: "@every 1d" (must have a duration in hours, minutes and seconds, such as @every 6h or @every 1h30m)'
    ],
    ["@every 0s", 'invalid schedule: "@every 0s" (must be longer than 0, such as @every 6h or @every 1h30m)'],
    [
      "@every -1h",
      'invalid schedule: "@every -1h" (must have a duration in hours, minutes and seconds, such as @every 6h or @every 1h30m)'
    ],
    [
      "@every 9999999h",
      'invalid schedule: "@every 9999999h" (must be at most 2562047h, such as @every 6h or @every 1h30m)'
    ]
  ]
  for (const [schedule, message] of table) test(schedule, () => expect(refusal(schedule)).toBe(message))
  for (const schedule of ["@constructor", "@daily-random-random", "@random", "a b c d e", "-1 * * * *", "+5 * * * *"]) {
    test(`${schedule}`, () => expect(refusal(schedule)).toBeDefined())
  }
})
