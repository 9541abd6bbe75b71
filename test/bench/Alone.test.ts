/** The limits of Homeostat alone. */
import { expect, test } from "bun:test"
import { Effect } from "effect"
import * as Alone from "./Alone.ts"

const outcome = (...values: ReadonlyArray<number>): Alone.Outcome => ({
  scenario: {
    name: "s",
    title: "a scenario",
    repeats: 3,
    measures: [
      { field: "ms", label: "time", limit: 20 },
      { field: "mib", label: "memory" }
    ],
    run: () => Effect.succeed({})
  },
  results: values.map((ms) => ({ ms, mib: 1000 })),
  failures: []
})

test("a number is above its limit where the median of its runs is", () => {
  expect(Alone.excesses([outcome(10, 20, 90)])).toEqual([])
  expect(Alone.excesses([outcome(10, 21, 90)])).toEqual(["a scenario, time: 21 (at most 20)"])
  expect(Alone.excesses([outcome()])).toEqual([])
})

test("the table has each number with its limit, then what is above it, then what failed", () => {
  expect(Alone.render([{ ...outcome(10, 30, 90), failures: ["s: no answer"] }]).split("\n")).toEqual([
    "| homeostat alone | number | | limit | runs |",
    "|---|---|---|---|---|",
    "| a scenario | time | 30 (10–90) | 20 | 3 |",
    "|  | memory | 1000 (1000–1000) |  |  |",
    "",
    "Above the limit: 1. Failed: 1.",
    "- a scenario, time: 30 (at most 20)",
    "- s: no answer",
    ""
  ])
})
