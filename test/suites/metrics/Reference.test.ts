/** The page of metrics in the docs says what the definitions say. */
import { expect, test } from "bun:test"
import { join } from "node:path"
import * as Metric from "@homeostat/runtime/telemetry/Metric"
import * as Reference from "./Reference.ts"

const page = await Bun.file(join(import.meta.dir, "../../..", Reference.path)).text()

test("docs/metrics.md is made from the definitions, as it is now: `bun test/suites/metrics/Reference.ts > docs/metrics.md`", () => {
  expect(page).toBe(Reference.text)
})

test("docs/metrics.md has every metric once, and says what it tells", () => {
  for (const metric of Object.values(Metric)) {
    if (!("type" in metric)) continue
    const rows = page.split("\n").filter((line) => line.startsWith(`| \`${metric.name}\` | ${metric.type} |`))
    expect([metric.name, rows.length]).toEqual([metric.name, 1])
    expect(rows[0]?.split(" | ").at(-1)?.length).toBeGreaterThan(12)
  }
})
