import { describe, expect, test } from "bun:test"
import * as Schedule from "./Schedule.ts"

describe("The schedule", () => {
  test("has each file once, the longest batch first", () => {
    const files = ["a/1", "a/2", "b/1", "b/2", "b/3", "c/1"]
    const durations = { "a/1": 3, "a/2": 2, "b/1": 30, "b/2": 20, "b/3": 20, "c/1": 90 }
    const batches = Schedule.batches(files, { known: durations, usual: 1 }, 2)
    expect(batches.flat().toSorted()).toEqual(files)
    expect(batches[0]).toEqual(["c/1"])
    const seconds = batches.map((batch) =>
      batch.reduce((sum, file) => sum + durations[file as keyof typeof durations], 0)
    )
    expect(seconds).toEqual(seconds.toSorted((one, other) => other - one))
  })

  test("keeps a folder together where its files fit in one batch", () => {
    const batches = Schedule.batches(["a/1", "b/1", "a/2", "b/2"], { known: {}, usual: 20 }, 1)
    expect(batches.map((batch) => batch.toSorted())).toEqual([
      ["a/1", "a/2"],
      ["b/1", "b/2"]
    ])
  })

  test("gives every process work, however short the files are", () => {
    expect(Schedule.batches(["a/1", "a/2", "a/3", "a/4"], { known: {}, usual: 1 }, 2)).toHaveLength(2)
  })
})
