import { expect, test } from "bun:test"
import * as Result from "effect/Result"
import * as Recordings from "./Recordings.ts"

test("A number of recordings is from 0 to 9999", () => {
  expect(["0", "64", "9999"].map(Recordings.countOf)).toEqual([0, 64, 9999].map(Result.succeed))
  for (const text of ["", "-1", "01", "10000", "many"]) {
    expect(Recordings.countOf(text)).toEqual(
      Result.fail(`invalid number of recordings: "${text}" (must be from 0 to 9999)`)
    )
  }
})

test("A size has a unit", () => {
  expect(["512Ki", "8Mi", "1Gi"].map(Recordings.bytesOf)).toEqual([2 ** 19, 2 ** 23, 2 ** 30].map(Result.succeed))
  for (const text of ["8", "0Mi", "8M", "1.5Mi"]) {
    expect(Recordings.bytesOf(text)).toEqual(Result.fail(`invalid size: "${text}" (write it like 512Ki or 8Mi)`))
  }
})
