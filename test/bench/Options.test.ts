/** The flags of the bench, and the arguments that scenarios derive from them. */
import { describe, expect, test } from "bun:test"
import type { Outcome } from "./Campaign.ts"
import * as Options from "./Options.ts"
import * as Scenario from "./Scenario.ts"
import * as Table from "./Table.ts"

const churnArgs = (...flags: ReadonlyArray<string>): ReadonlyArray<string> | undefined => {
  const { scenarios, size } = Options.parse(["--scenarios", "churn", ...flags])
  return scenarios[0]?.args(size)
}

describe("The updates of churn", () => {
  test("are 1,000 a second for a minute", () => {
    expect(churnArgs()).toEqual(["-scenario", "churn", "-rate", "1000", "-churn", "60s"])
  })

  test("are fewer in a quick run", () => {
    expect(churnArgs("--quick")).toEqual(["-scenario", "churn", "-rate", "20", "-churn", "3s"])
  })

  test("have the rate and the length of the flags, in a quick run too", () => {
    const chosen = ["-scenario", "churn", "-rate", "100", "-churn", "10s"]
    expect(churnArgs("--update-rate", "100", "--update-seconds", "10")).toEqual(chosen)
    expect(churnArgs("--quick", "--update-rate", "100", "--update-seconds", "10")).toEqual(chosen)
  })

  test("have a rate above 0", () => {
    expect(() => churnArgs("--update-rate", "0")).toThrow("--update-rate 0: a number above 0 is needed")
  })

  test("are in the table with the rate reached, which is better if it is greater", () => {
    const scenario = Scenario.all.filter(({ name }) => name === "churn")
    const kept = new Map([
      ["a", [{ round: 1, updates_per_s: 412.5, lag_p99_ms: 90 }]],
      ["b", [{ round: 1, updates_per_s: 825, lag_p99_ms: 45 }]]
    ])
    const outcomes = scenario.map((scenario): Outcome => ({ scenario, kept, noisy: 0, failures: [] }))
    const rows = Table.render(outcomes, ["a", "b"]).split("\n")
    expect(rows[2]).toBe("| updates at a steady rate | updates/s reached ↑ | 413 | 825 | **0.50** | 1, 1 |")
    expect(rows).toContain("|  | update sent to Deployment seen, p99 ms | 90 | 45 | **2.00** |  |")
  })
})

describe("--in-memory", () => {
  test("measures 30,000 WebApps, or the number in --objects", () => {
    expect(Options.parse(["--in-memory"])).toMatchObject({ inMemory: true, size: { objects: 30_000 } })
    expect(Options.parse(["--in-memory", "--objects", "500"]).size.objects).toBe(500)
    expect(Options.parse([])).toMatchObject({ inMemory: false, size: { objects: 10_000 } })
  })

  test("has no scenarios and no other managers", () => {
    const message = "--in-memory: cannot be used with --scenarios or --manager"
    expect(() => Options.parse(["--in-memory", "--scenarios", "cold"])).toThrow(message)
    expect(() => Options.parse(["--in-memory", "--manager", "a=b", "--manager", "c=d"])).toThrow(message)
  })
})

describe("--scenarios", () => {
  test("chooses those beside other managers, and those of Homeostat alone", () => {
    const { alone, scenarios } = Options.parse(["--scenarios", "startup,cold,first-pass"])
    expect(scenarios.map(({ name }) => name)).toEqual(["startup", "cold"])
    expect(alone.map(({ name }) => name)).toEqual(["first-pass"])
  })

  test("names a scenario that is not there", () => {
    expect(() => Options.parse(["--scenarios", "start"])).toThrow("--scenarios: there is no start")
  })
})

describe("--short", () => {
  test("measures all numbers of the README, with fewer runs", () => {
    const { alone, scenarios, size } = Options.parse(["--short"])
    expect(scenarios.map(({ name, repeats }) => `${name} ${repeats}`)).toEqual([
      "startup 3",
      "create-headless 2",
      "cold 3",
      "idle 1",
      "latency 1",
      "failover 1"
    ])
    expect(alone).toEqual([])
    expect(size).toMatchObject({ objects: 10_000, create: 2000, short: true })
  })

  test("measures a scenario once that is chosen and otherwise not a part of it", () => {
    expect(Options.parse(["--short", "--scenarios", "churn"]).scenarios.map(({ repeats }) => repeats)).toEqual([1])
  })
})

describe("--publish", () => {
  test("needs a measurement of all numbers in the pages", () => {
    expect(Options.parse(["--short", "--publish"]).publish).toBe(true)
    const message = "--publish: cannot be used with --in-memory, --quick or --manager"
    expect(() => Options.parse(["--publish", "--quick"])).toThrow(message)
    expect(() => Options.parse(["--publish", "--scenarios", "startup,cold"])).toThrow(
      "--publish: the pages also need the scenario create-headless"
    )
  })
})
