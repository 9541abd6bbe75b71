import { describe, expect, test } from "bun:test"
import * as Result from "effect/Result"
import * as Workers from "./Workers.ts"

const read = (text: string) => Result.getOrUndefined(Workers.parse(text))

describe("A number of workers", () => {
  test("is one for all, or one for each name", () => {
    expect(read("16")).toBe(16)
    expect(read("webapp=16,backup=4")).toEqual({ webapp: 16, backup: 4 })
  })
  for (const text of [
    "",
    "0",
    "-1",
    "1.5",
    "x",
    "webapp=",
    "webapp=0",
    "=4",
    "webapp=4,",
    "99999",
    "webapp=16=5",
    "webapp=1,webapp=2"
  ]) {
    test(`is rejected as "${text}"`, () => expect(read(text)).toBeUndefined())
  }
})
