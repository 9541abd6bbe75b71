import { describe, expect, test } from "bun:test"
import * as Duration from "effect/Duration"
import * as Result from "effect/Result"
import * as DurationText from "./DurationText.ts"

const millis = (text: string) => Result.getOrUndefined(Result.map(DurationText.parse()(text), Duration.toMillis))

describe("A duration", () => {
  const right: ReadonlyArray<readonly [string, number]> = [
    ["15s", 15_000],
    ["1m30s", 90_000],
    ["10h", 36_000_000],
    ["500ms", 500],
    ["1.5h", 5_400_000],
    ["0s", 0]
  ]
  for (const [text, expected] of right) {
    test(`${text} is ${expected} ms`, () => expect(millis(text)).toBe(expected))
  }
  for (const text of ["", "5", "5x", "-5s", "1m 30s", "s", "1e3s", "∞"]) {
    test(`"${text}" is rejected`, () => expect(millis(text)).toBeUndefined())
  }
})

test("A duration may have a minimum", () => {
  const parse = DurationText.parse({ atLeast: "1m" })
  expect(parse("1m")).toEqual(Result.succeed(Duration.minutes(1)))
  expect(parse("59999ms")).toEqual(Result.fail('invalid duration: "59999ms" (must be at least 1m)'))
})
