import { describe, expect, test } from "bun:test"
import * as Seed from "@homeostat/testkit/Seed.fixture"
import * as Result from "effect/Result"
import * as FastCheck from "fast-check"
import * as Cron from "./Cron.ts"
import vectors from "./cron-vectors.fixture.json"
import * as Occurrence from "./Occurrence.ts"
import * as TimeZone from "./TimeZone.ts"

const at = (text: string): number => Date.parse(text)
const iso = (millis: number | undefined): string =>
  millis === undefined ? "never" : new Date(millis).toISOString().replace(".000Z", "Z")
const cron = (schedule: string): Cron.Cron =>
  Result.getOrThrowWith(Cron.parse(schedule, "shop/cart"), (message) => new Error(message)).cron
const zone = (name: string): TimeZone.TimeZone =>
  Result.getOrThrowWith(TimeZone.find(name), (message) => new Error(message))
const nexts = (schedule: string, name: string, after: string, count: number): ReadonlyArray<string> => {
  const found: Array<string> = []
  let moment: number | undefined = at(after)
  while (found.length < count && moment !== undefined) {
    moment = Occurrence.next(cron(schedule), zone(name), moment)
    found.push(iso(moment))
  }
  return found
}

test("the vectors of robfig/cron are complete", () =>
  expect([vectors.next.length, vectors.mostRecent.length]).toEqual([51, 15]))

describe("Occurrence.next returns the times of robfig/cron for", () => {
  for (const { Spec, TZ, After, Next, Err } of vectors.next) {
    test(`${JSON.stringify(Spec)} in ${TZ || "UTC"} after ${After}`, () => {
      if (Err === "") expect(nexts(Spec, TZ || "UTC", After, Next?.length ?? 0)).toEqual(Next ?? [])
      else expect(Result.isFailure(Cron.parse(Spec, "a/b")) || Result.isFailure(TimeZone.find(TZ || "UTC"))).toBe(true)
    })
  }
})

describe("On a day when the clocks change,", () => {
  test("a schedule runs on a day without a midnight", () =>
    expect(nexts("0 12 24 4 *", "Africa/Cairo", "2026-01-01T00:00:00Z", 1)).toEqual(["2026-04-24T09:00:00Z"]))
  test("a schedule runs each minute of a repeated hour twice", () =>
    expect(nexts("0,59 2 * * *", "Europe/Berlin", "2026-10-24T20:00:00Z", 5)).toEqual([
      "2026-10-25T00:00:00Z",
      "2026-10-25T00:59:00Z",
      "2026-10-25T01:00:00Z",
      "2026-10-25T01:59:00Z",
      "2026-10-26T01:00:00Z"
    ]))
  test("a schedule runs the remaining half of an hour", () =>
    expect(nexts("45 2,3 * * *", "Australia/Lord_Howe", "2026-10-03T12:00:00Z", 3)).toEqual([
      "2026-10-03T15:45:00Z",
      "2026-10-03T16:45:00Z",
      "2026-10-04T15:45:00Z"
    ]))
  for (const [schedule, first] of [
    ["40 2 * * *", "2026-09-26T13:55:00Z"],
    ["50 2 * * *", "2026-09-27T13:05:00Z"],
    ["40 3 * * *", "2026-09-27T13:55:00Z"],
    ["50 3 * * *", "2026-09-26T14:05:00Z"]
  ] as const) {
    test(`and Chatham skips 02:45 to 03:45, ${schedule} runs only at times that exist`, () =>
      expect(nexts(schedule, "Pacific/Chatham", "2026-09-26T12:00:00Z", 1)).toEqual([first]))
  }
  test("or the calendar skips a date, a schedule skips that date", () =>
    expect(nexts("0 8 * * *", "Pacific/Apia", "2011-12-29T00:00:00Z", 2)).toEqual([
      "2011-12-29T18:00:00Z",
      "2011-12-30T18:00:00Z"
    ]))
  test("a schedule runs at both midnights of a repeated hour", () =>
    expect(nexts("0 0 * * *", "America/Havana", "2026-10-31T12:00:00Z", 3)).toEqual([
      "2026-11-01T04:00:00Z",
      "2026-11-01T05:00:00Z",
      "2026-11-02T05:00:00Z"
    ]))
})

const zones = [
  "UTC",
  "Europe/Berlin",
  "America/New_York",
  "Africa/Cairo",
  "Australia/Lord_Howe",
  "Asia/Kolkata",
  "America/Sao_Paulo",
  "America/Havana"
]
const list = (min: number, max: number) =>
  FastCheck.oneof(
    FastCheck.constant("*"),
    FastCheck.uniqueArray(FastCheck.integer({ min, max }), { minLength: 1, maxLength: 4 }).map((values) =>
      values.join(",")
    )
  )
const schedules = FastCheck.oneof(
  FastCheck.tuple(list(0, 59), list(0, 23), list(1, 31), list(1, 12), list(0, 6))
    .map((fields) => fields.join(" "))
    .filter((schedule) => !Occurrence.isNever(cron(schedule))),
  FastCheck.integer({ min: 1, max: 500_000 }).map((seconds) => `@every ${seconds}s`)
)
const moments = FastCheck.integer({ min: at("2018-01-01T00:00:00Z"), max: at("2030-01-01T00:00:00Z") })

/** The local time of each minute from 30 hours before a clock change to 30 hours after. */
const clocksAround = (name: string, change: number) => {
  const key = `${name} ${change}`
  const before = clocks.get(key)
  if (before !== undefined) return before
  const place = zone(name)
  const shown = Array.from({ length: 60 * 60 }, (_, index) => {
    const moment = change + (index + 1 - 30 * 60) * 60_000
    const clock = new Date(moment + place.offset(moment))
    return { moment, hour: clock.getUTCHours(), minute: clock.getUTCMinutes() }
  })
  clocks.set(key, shown)
  return shown
}
const clocks = new Map<
  string,
  ReadonlyArray<{ readonly moment: number; readonly hour: number; readonly minute: number }>
>()

describe("For any schedule and time zone,", () => {
  test("Occurrence.next is strictly later, and monotonic", () =>
    FastCheck.assert(
      FastCheck.property(
        schedules,
        FastCheck.constantFrom(...zones),
        moments,
        moments,
        (schedule, name, one, other) => {
          const [early, late] = [Math.min(one, other), Math.max(one, other)]
          const first = Occurrence.next(cron(schedule), zone(name), early)
          const second = Occurrence.next(cron(schedule), zone(name), late)
          expect(first).toBeGreaterThan(early)
          expect(second).toBeGreaterThanOrEqual(first ?? 0)
        }
      ),
      { numRuns: 500, seed: Seed.current() }
    ))

  test("Occurrence.next matches the local time around each clock change", () =>
    FastCheck.assert(
      FastCheck.property(
        list(0, 59),
        list(0, 23),
        FastCheck.constantFrom(
          ["Europe/Berlin", "2026-03-29T01:00:00Z"] as const,
          ["Europe/Berlin", "2026-10-25T01:00:00Z"] as const,
          ["America/New_York", "2026-03-08T07:00:00Z"] as const,
          ["America/New_York", "2026-11-01T06:00:00Z"] as const,
          ["Africa/Cairo", "2026-04-23T22:00:00Z"] as const,
          ["Africa/Cairo", "2026-10-29T21:00:00Z"] as const,
          ["America/Havana", "2026-11-01T05:00:00Z"] as const,
          ["Pacific/Chatham", "2026-04-04T14:00:00Z"] as const,
          ["Pacific/Chatham", "2026-09-26T14:00:00Z"] as const,
          ["America/Sao_Paulo", "2018-02-18T02:00:00Z"] as const
        ),
        (minutes, hours, [name, change]) => {
          const schedule = cron(`${minutes} ${hours} * * *`)
          const place = zone(name)
          if (schedule._tag !== "Fields") throw new Error("no fields")
          const [begin, end] = [at(change) - 30 * 3_600_000, at(change) + 30 * 3_600_000]
          const wanted = clocksAround(name, at(change))
            .filter(({ hour, minute }) => schedule.hours.includes(hour) && schedule.minutes.includes(minute))
            .map(({ moment }) => moment)
          const found: Array<number> = []
          let moment = Occurrence.next(schedule, place, begin)
          while (moment !== undefined && moment <= end && found.length <= 60) {
            found.push(moment)
            moment = Occurrence.next(schedule, place, moment)
          }
          expect(found.map(iso)).toEqual(wanted.slice(0, found.length > 60 ? 61 : undefined).map(iso))
        }
      ),
      { numRuns: 40, seed: Seed.current() }
    ))

  test("Occurrence.latest and Occurrence.count agree with a walk along Occurrence.next", () =>
    FastCheck.assert(
      FastCheck.property(
        schedules,
        FastCheck.constantFrom(...zones),
        moments,
        FastCheck.nat(10 * 86_400_000),
        (schedule, name, after, span) => {
          const now = after + span
          let walked: number | undefined
          let steps = 0
          let moment = Occurrence.next(cron(schedule), zone(name), after)
          while (moment !== undefined && moment <= now && steps < 500) {
            walked = moment
            steps += 1
            moment = Occurrence.next(cron(schedule), zone(name), moment)
          }
          if (steps < 500) expect(Occurrence.latest(cron(schedule), zone(name), after, now)).toBe(walked)
          expect(Occurrence.count(cron(schedule), zone(name), after, now, 100)).toBe(Math.min(100, steps))
        }
      ),
      { numRuns: 100, seed: Seed.current() }
    ))
})

describe("Occurrence.gaps returns the shortest and longest gap of", () => {
  const day = 86_400_000
  for (const [schedule, shortest, longest] of [
    ["0 2 * * *", day, day],
    ["0 2 * * 1-5", day, 3 * day],
    ["0,30 2 * * *", 1_800_000, day - 1_800_000],
    ["0 0 1 * *", 28 * day, 31 * day],
    ["0 0 29 2 *", 1461 * day, 1461 * day],
    ["@every 90m", 5_400_000, 5_400_000]
  ] as const) {
    test(schedule, () => expect(Occurrence.gaps(cron(schedule))).toEqual({ shortest, longest }))
  }
  test("undefined for a schedule that never runs", () => expect(Occurrence.gaps(cron("0 0 31 2 *"))).toBeUndefined())
})

describe("TimeZone.find", () => {
  for (const name of ["+02:00", "Local", "", "Nope/Zone", "Europe/Berlin "]) {
    test(`rejects ${JSON.stringify(name)}`, () => expect(Result.isFailure(TimeZone.find(name))).toBe(true))
  }
  test("returns a zone with the offset of each moment, to the millisecond", () => {
    const lordHowe = zone("Australia/Lord_Howe")
    expect([lordHowe.offset(at("2026-10-03T15:29:59.900Z")), lordHowe.offset(at("2026-10-03T15:30:00Z"))]).toEqual([
      10.5 * 3_600_000,
      11 * 3_600_000
    ])
  })
})

test("Occurrence.isNever finds dates that none of the months has", () => {
  const days = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
  for (const [at, last] of days.entries()) {
    expect(Occurrence.isNever(cron(`0 0 ${last} ${at + 1} *`))).toBe(false)
    if (last < 31) expect(Occurrence.isNever(cron(`0 0 ${last + 1} ${at + 1} *`))).toBe(true)
  }
  expect(Occurrence.isNever(cron("0 0 30 2,4 *"))).toBe(false)
  expect(Occurrence.isNever(cron("0 0 30 2 1"))).toBe(false)
  expect(Occurrence.isNever(cron("@every 1h"))).toBe(false)
})
