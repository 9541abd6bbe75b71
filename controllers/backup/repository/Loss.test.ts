import { describe, expect, test } from "bun:test"
import * as Result from "effect/Result"
import * as Schedule from "../schedule/Schedule.ts"
import * as Loss from "./Loss.ts"
import * as Retention from "./Retention.ts"

const day = 86_400_000
const newest = Date.parse("2026-11-20T02:00:00Z")

const table = (schedule: string) =>
  Result.getOrThrowWith(Schedule.parse(schedule, { of: "shop/cart" }), ({ message }) => new Error(message))

const keep = (policy: string, counts?: Retention.Counts): Loss.Keep => ({
  policy: Result.getOrThrowWith(Retention.parse(policy), (message) => new Error(message)),
  counts
})

/** One snapshot each day, the newest first. */
const daily = (days: number): ReadonlyArray<number> => Array.from({ length: days }, (_, at) => newest - at * day)

/** The ages of the kept snapshots in days. */
const ages = (snapshots: ReadonlyArray<number>, rule: Loss.Keep): ReadonlyArray<number> =>
  Loss.kept(snapshots, rule).map((at) => (newest - at) / day)

describe("Loss.kept keeps", () => {
  test("everything without a policy and counts", () => expect(ages(daily(5), keep(""))).toEqual([0, 1, 2, 3, 4]))
  test("snapshots less than the policy older than the newest one", () =>
    expect(ages(daily(30), keep("7d"))).toEqual([0, 1, 2, 3, 4, 5, 6]))
  test("the newest three snapshots, or keepLast", () => {
    expect(ages(daily(30), keep("1h"))).toEqual([0, 1, 2])
    expect(ages(daily(30), keep("1h", { keepLast: 1 }))).toEqual([0])
    expect(ages(daily(30), keep("1h", { keepLast: 0 }))).toEqual([0, 1, 2])
  })
  test("the last snapshot of each day, week, month and year", () => {
    const twice = daily(20).flatMap((at) => [at, at - day / 12])
    expect(ages(twice, keep("", { keepLast: 1, keepDaily: 3 }))).toEqual([0, 1, 2])
    // 20 November 2026 is a Friday.
    expect(ages(daily(20), keep("", { keepLast: 1, keepWeekly: 3 }))).toEqual([0, 5, 12])
    expect(ages(daily(90), keep("", { keepLast: 1, keepMonthly: 3 }))).toEqual([0, 20, 51])
    expect(ages(daily(700), keep("", { keepLast: 1, keepYearly: 2 }))).toEqual([0, 324])
  })
  test("the oldest snapshot if a count is not exhausted", () =>
    expect(ages(daily(20), keep("", { keepLast: 1, keepMonthly: 9 }))).toEqual([0, 19]))
})

describe("Loss.times", () => {
  test("returns the scheduled times up to the last run", () => {
    expect(Loss.times(table("0 2 * * *"), newest - 2.5 * day, newest)).toEqual([newest, newest - day, newest - 2 * day])
    expect(Loss.times(table("0 2 * * *"), newest, newest)).toEqual([])
  })
  test("returns undefined for too many times", () => {
    expect(Loss.times(table("* * * * *"), newest - 1.3 * day, newest)).toHaveLength(1872)
    expect(Loss.times(table("* * * * *"), newest - 10 * day, newest)).toBeUndefined()
  })
  test("looks at the days of 50 years at most", () => {
    const rare = table("0 0 29 2 *")
    const { cron } = rare
    if (cron._tag !== "Fields") throw new Error("no fields")
    let looks = 0
    class Counted extends Array<number> {
      override includes(month: number): boolean {
        looks++
        return super.includes(month)
      }
    }
    const counted = { ...rare, cron: { ...cron, months: Counted.from(cron.months) } }
    const times = Loss.times(counted, Date.parse("0001-01-01T00:00:00Z"), Date.parse("9999-12-31T00:00:00Z"))
    expect(times).toHaveLength(12)
    expect(looks).toBeLessThan(60 * 366)
  })
})

test("Loss.between counts the snapshots that only the longer retention keeps", () => {
  expect(Loss.between(daily(60), keep("30d"), keep("7d"))).toEqual({
    before: 30,
    deleted: 23,
    span: { before: 29 * day, after: 6 * day }
  })
  expect(Loss.between(daily(60), keep("7d"), keep("30d")).deleted).toBe(0)
})
