/** The results of a campaign in the pages. */
import { describe, expect, test } from "bun:test"
import * as Pages from "./Pages.ts"
import * as Scenario from "./Scenario.ts"

/** Each number of the first manager is 20, of the second 10, and of the third 5, which elects no leader. */
const outcomes = Scenario.all
  .filter(({ shortRepeats }) => shortRepeats !== undefined)
  .map((scenario) => {
    const resultsOf = (value: number) => [
      { round: 1, ...Object.fromEntries(scenario.measures.map(({ field }) => [field, value])) }
    ]
    const kept = new Map([
      ["homeostat", resultsOf(20)],
      ["controller-runtime", resultsOf(10)],
      ["kube-rs", scenario.elects === true ? [] : resultsOf(5)]
    ])
    return { scenario, kept, noisy: 0, failures: [] }
  })

const results: Pages.Results = {
  outcomes,
  managers: ["homeostat", "controller-runtime", "kube-rs"],
  size: { objects: 10_000, create: 2000 },
  host: "the versions"
}

const linesOf = (text: string): ReadonlyArray<string> => text.split("\n")

describe("The results in the README", () => {
  const lines = linesOf(Pages.readme(results, new Date("2026-11-29T12:00:00Z")))

  test("have the date, the sizes, and a table with the ratio of the first two managers", () => {
    expect(lines.slice(0, 7)).toEqual([
      "Measured on 29 November 2026, with 10,000 converged WebApps and 2,000 new ones.",
      "The same controller runs on each library, on one API server ([all numbers](docs/performance.md#results)).",
      "The ratio is homeostat divided by controller-runtime.",
      "",
      "|  | homeostat | controller-runtime | ratio | kube-rs |",
      "| --- | --: | --: | --: | --: |",
      "| start to ready, empty cluster | 20 ms | 10 ms | 2.00 | 5 ms |"
    ])
    expect(lines).toHaveLength(6 + Pages.rows.length)
  })

  test("have a dash where a manager took no part", () => {
    expect(lines.at(-1)).toBe("| SIGTERM of the leader to repaired drift | 20 ms | 10 ms | 2.00 | – |")
  })
})

test("The results in the page about performance have the versions, the sizes and all numbers", () => {
  const lines = linesOf(Pages.performance(results))
  expect(lines.slice(0, 3)).toEqual([
    "the versions",
    "10,000 converged WebApps with three children each; 2,000 created at once.",
    ""
  ])
  const table = lines.filter((line) => line.startsWith("|"))
  expect(table).toHaveLength(2 + outcomes.reduce((sum, { scenario }) => sum + scenario.measures.length, 0))
})

describe("A page", () => {
  const page = (text: string) =>
    `# A\n\n<!-- Made by \`bun run bench --short --publish\`. -->\n\n${text}\n\n<!-- The end of the results of the bench. -->\n\nB\n`

  test("has the new results in place of the old ones", () => {
    expect(Pages.replaced(page("old\n\n| 1 |"), "new\n")).toBe(page("new"))
  })

  test("without a place for the results is not written", () => {
    expect(() => Pages.replaced("# A\n", "new")).toThrow("no place for the results: missing <!-- Made by")
  })
})

test("Each row of the README is a number of a scenario in a short campaign", () => {
  const numbers = outcomes.flatMap(({ scenario }) => scenario.measures.map(({ label }) => [scenario.title, label]))
  for (const row of Pages.rows) expect(numbers).toContainEqual([...Pages.titlesOf(row)])
})
