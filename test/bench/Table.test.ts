/** The table shows the measured numbers. */
import { expect, test } from "bun:test"
import type { Outcome } from "./Campaign.ts"
import * as Table from "./Table.ts"

const outcome = (
  a: ReadonlyArray<{ readonly round: number; readonly ms: number }>,
  b: ReadonlyArray<{ readonly round: number; readonly ms: number }>,
  more: Partial<Outcome> = {}
): Outcome => ({
  scenario: { name: "s", title: "a scenario", args: () => [], repeats: 3, measures: [{ field: "ms", label: "time" }] },
  kept: new Map([
    ["a", a],
    ["b", b]
  ]),
  noisy: 0,
  failures: [],
  ...more
})

const rowsOf = (...outcomes: ReadonlyArray<Outcome>): ReadonlyArray<string> =>
  Table.render(outcomes, ["a", "b"]).split("\n")

test("a row has median and spread of both, and the ratio of the medians with that of the pairs", () => {
  const rows = rowsOf(
    outcome(
      [
        { round: 1, ms: 10 },
        { round: 2, ms: 30 },
        { round: 3, ms: 12 }
      ],
      [
        { round: 1, ms: 20 },
        { round: 2, ms: 24 },
        { round: 3, ms: 21 }
      ]
    )
  )
  expect(rows[2]).toBe("| a scenario | time | 12 (10–30) | 21 (20–24) | **0.57** (0.50–1.25) | 3, 3 |")
})

test("a third manager has a column of its own, and no ratio", () => {
  const both = outcome([{ round: 1, ms: 10 }], [{ round: 1, ms: 20 }])
  const three = { ...both, kept: new Map([...both.kept, ["c", [{ round: 1, ms: 5 }]]]) }
  const rows = Table.render([three], ["a", "b", "c"]).split("\n")
  expect(rows.slice(0, 3)).toEqual([
    "| scenario | number | a | b | ratio | c | runs |",
    "|---|---|---|---|---|---|---|",
    "| a scenario | time | 10 | 20 | **0.50** | 5 | 1, 1, 1 |"
  ])
})

test("a run whose neighbour was thrown away counts in the median, but makes no pair", () => {
  const rows = rowsOf(
    outcome(
      [
        { round: 1, ms: 10 },
        { round: 2, ms: 20 },
        { round: 3, ms: 30 }
      ],
      [
        { round: 1, ms: 20 },
        { round: 3, ms: 30 }
      ],
      { noisy: 3 }
    )
  )
  expect(rows[2]).toBe("| a scenario | time | 20 (10–30) | 25 (20–30) | **0.80** (0.50–1.00) | 3, 2 |")
  expect(rows).toContain("Above the limit: 0. Runs thrown away because of other load: 3. Failed: 0.")
})

test("where there is nothing to divide, there is no ratio", () => {
  expect(rowsOf(outcome([], [{ round: 1, ms: 1 }]))[2]).toBe("| a scenario | time | – | 1 | – | 0, 1 |")
  expect(rowsOf(outcome([{ round: 1, ms: 0 }], [{ round: 1, ms: 0 }]))[2]).toBe(
    "| a scenario | time | 0 | 0 | – | 1, 1 |"
  )
})

test("the table lists failures below it", () => {
  const rows = rowsOf(outcome([], [], { failures: ["s, a: no answer"] }))
  expect(rows).toContain("- s, a: no answer")
})

test("a number of the first manager that is above its limit is named below the table", () => {
  const { scenario } = outcome([], [])
  const rows = rowsOf({
    ...outcome([{ round: 1, ms: 11 }], [{ round: 1, ms: 12 }]),
    scenario: { ...scenario, measures: [{ field: "ms", label: "time", limit: 10 }] }
  })
  expect(rows).toContain("- a scenario, time: 11 (at most 10)")
})

test("the driver's own runs have a table of their own", () => {
  const { scenario } = outcome([], [])
  const rows = rowsOf({
    ...outcome([], []),
    scenario: { ...scenario, driverAlone: true },
    kept: new Map([["driver alone", [{ round: 1, ms: 976.4 }]]])
  })
  expect(rows).toContain("| a scenario | time | 976 | 1 |")
})
