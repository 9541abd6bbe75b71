import { describe, expect, test } from "bun:test"
import * as Seed from "@homeostat/testkit/Seed.fixture"
import * as Result from "effect/Result"
import * as FastCheck from "fast-check"
import * as Retention from "./Retention.ts"

const policy = (text: string): Retention.Policy | undefined =>
  Result.getOrThrowWith(Retention.parse(text), (message) => new Error(message))
const refusal = (text: string) => Result.getOrUndefined(Result.flip(Retention.parse(text)))
const hour = 3_600_000
const day = 24 * hour

describe("A retentionPolicy", () => {
  for (const [text, hours] of [
    ["30d", 720],
    ["4w", 28 * 24],
    ["1y", 366 * 24],
    ["1y2w3d4h", 366 * 24 + 14 * 24 + 72 + 4],
    ["1d1d", 48],
    ["30s", 1],
    ["60m", 1],
    ["61m", 2],
    ["90m", 2],
    ["23h59m59s", 24],
    ["0d1h", 1],
    ["100y", 878_400]
  ] as const) {
    test(`${text} becomes ${hours}h`, () =>
      expect(Retention.keepArguments(policy(text))).toEqual(["--keep-within", `${hours}h`, "--keep-last", "3"]))
  }
  test("that is empty keeps everything", () => {
    expect(policy("")).toBeUndefined()
    expect(Retention.keepArguments(policy(""))).toEqual([])
  })
  test("becomes whole hours, rounded up", () =>
    FastCheck.assert(
      FastCheck.property(
        FastCheck.array(
          FastCheck.tuple(FastCheck.integer({ min: 0, max: 99 }), FastCheck.constantFrom("s", "m", "h", "d", "w")),
          { minLength: 1, maxLength: 5 }
        ),
        (parts) => {
          const text = parts.map(([amount, unit]) => `${amount}${unit}`).join("")
          const seconds: { readonly [unit: string]: number } = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 }
          const asked = parts.reduce((sum, [amount, unit]) => sum + amount * (seconds[unit] ?? 0), 0)
          const parsed = Retention.parse(text)
          if (asked === 0) return expect(Result.isFailure(parsed)).toBe(true)
          const [flag, within = "", ...more] = Retention.keepArguments(Result.getOrUndefined(parsed))
          expect([flag, more]).toEqual(["--keep-within", ["--keep-last", "3"]])
          expect(within).toMatch(/^[1-9]\d*h$/)
          expect(Number.parseInt(within, 10) * 3600).toBeGreaterThanOrEqual(asked)
          expect((Number.parseInt(within, 10) - 1) * 3600).toBeLessThan(asked)
        }
      ),
      { seed: Seed.current() }
    ))
})

describe("Retention.parse rejects", () => {
  const shape = (text: string) =>
    `invalid retentionPolicy: "${text}" (must be numbers with s, m (minutes), h, d, w or y, such as 30d or 1y6w)`
  for (const text of ["-1d", "30", "4x", "30D", "1.5d", " 30d", "30d ", "d", "1M"]) {
    test(`"${text}"`, () => expect(refusal(text)).toBe(shape(text)))
  }
  for (const text of ["0d", "0s", "0y0w0d0h0m0s", "00d"]) {
    test(`"${text}"`, () =>
      expect(refusal(text)).toBe(
        `invalid retentionPolicy: "${text}" (must be longer than 0; remove it to keep every snapshot)`
      ))
  }
  for (const text of ["101y", `${"9".repeat(400)}y`]) {
    test(`"${text.slice(0, 20)}"`, () =>
      expect(refusal(text)).toBe(
        `invalid retentionPolicy: "${text}" (must be at most 100y; remove it to keep every snapshot)`
      ))
  }
})

describe("The counts of a retention", () => {
  test("keep the newest three snapshots unless keepLast is set", () => {
    const last = (counts: Retention.Counts) => {
      const args = Retention.keepArguments(undefined, counts)
      return args[args.indexOf("--keep-last") + 1]
    }
    expect([last({ keepDaily: 7 }), last({ keepDaily: 7, keepLast: 0 })]).toEqual(["3", "3"])
    expect([last({ keepLast: 1 }), last({ keepLast: 9, keepDaily: 1 })]).toEqual(["1", "9"])
  })
  test("follow the policy in a fixed order", () =>
    expect(Retention.keepArguments(policy("1d"), { keepYearly: 2, keepLast: 3 })).toEqual([
      "--keep-within",
      "24h",
      "--keep-last",
      "3",
      "--keep-yearly",
      "2"
    ]))
  test("of zero or less are ignored", () =>
    expect(Retention.keepArguments(undefined, { keepLast: 0, keepDaily: -1 })).toEqual([]))
})

describe("Retention.warnings for", () => {
  const table: ReadonlyArray<readonly [string, Parameters<typeof Retention.warnings>[1], ReadonlyArray<string>]> = [
    ["30d", { gaps: { shortest: day, longest: day } }, []],
    ["1d", { gaps: { shortest: day, longest: day } }, []],
    ["30d", {}, []],
    [
      "6h",
      { gaps: { shortest: day, longest: 3 * day } },
      [
        "retentionPolicy 6h keeps snapshots that are at most 6 hours older than the newest one, but the schedule pauses at least 1 day between runs. The maintenance that follows each successful run deletes all snapshots but the newest 3"
      ]
    ],
    [
      "1h",
      { gaps: { shortest: 5_430_000, longest: 5_430_000 } },
      [
        "retentionPolicy 1h keeps snapshots that are at most 1 hour older than the newest one, but the schedule pauses at least 1 hour 30 minutes 30 seconds between runs. The maintenance that follows each successful run deletes all snapshots but the newest 3"
      ]
    ],
    [
      "2d",
      { gaps: { shortest: day, longest: 3 * day }, counts: { keepLast: 2 } },
      [
        "retentionPolicy 2d keeps snapshots that are at most 2 days older than the newest one, but the schedule pauses up to 3 days between runs. The maintenance that follows the first successful run after such a pause deletes all snapshots but the newest 2, except those that retention keeps"
      ]
    ],
    [
      "3m",
      {},
      [
        "retentionPolicy 3m: m means minutes, not months. After each successful run, the snapshots more than 1 hour older than the newest are deleted. If months were meant, write 90d"
      ]
    ],
    [
      "1d90m",
      { gaps: { shortest: day, longest: day } },
      [
        "retentionPolicy 1d90m: m means minutes, not months. After each successful run, the snapshots more than 1 day 2 hours older than the newest are deleted. If months were meant, write 1d2700d"
      ]
    ]
  ]
  for (const [text, options, expected] of table) {
    test(`${text} ${JSON.stringify(options)}`, () =>
      expect(Retention.warnings(policy(text), options)).toEqual(expected))
  }
  test("a short policy in minutes returns both warnings", () =>
    expect(Retention.warnings(policy("3m"), { gaps: { shortest: day, longest: day } })).toHaveLength(2))
  test("no policy returns no warning", () =>
    expect(Retention.warnings(undefined, { gaps: { shortest: day, longest: day } })).toEqual([]))
})

test("Retention.keepArguments writes a flag for each count", () => {
  const counts = { keepLast: 1, keepHourly: 2, keepDaily: 3, keepWeekly: 4, keepMonthly: 5, keepYearly: 6.7 }
  expect(Retention.keepArguments(undefined, counts)).toEqual([
    ...["--keep-last", "1", "--keep-hourly", "2", "--keep-daily", "3"],
    ...["--keep-weekly", "4", "--keep-monthly", "5", "--keep-yearly", "6"]
  ])
})

test("Retention.warnings mentions retention only if a count keeps snapshots", () => {
  const gaps = { shortest: day, longest: 3 * day }
  const [plain] = Retention.warnings(policy("2d"), { gaps, counts: { keepLast: 0 } })
  expect(plain).toEndWith("deletes all snapshots but the newest 3")
})
