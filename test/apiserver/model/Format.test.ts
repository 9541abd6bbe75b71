import { describe, expect, test } from "bun:test"
import * as Format from "./Format.ts"

describe("The value of a label", () => {
  test("has at most 63 bytes", () => {
    expect(Format.labelValue("a".repeat(63))).toEqual([])
    expect(Format.labelValue("a".repeat(64))).toEqual(["must be no more than 63 bytes"])
  })

  test("that is too long and has a wrong character gets both errors", () => {
    const errors = Format.labelValue(`${"a".repeat(64)}/`)
    expect(errors).toEqual(["must be no more than 63 bytes", expect.stringContaining("a valid label must be")])
  })
})
