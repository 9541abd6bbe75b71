import { expect, test } from "bun:test"
import { join } from "node:path"
import { Glob } from "bun"
import * as Definitions from "./Definitions.ts"
import * as Reference from "./Reference.ts"

const root = join(import.meta.dir, "../../..")
const page = await Bun.file(join(root, Reference.path)).text()

test("the reference contains the metrics of every controller", () => {
  const files = [...new Glob("controllers/**/Metrics.ts").scanSync(root)].sort()
  expect(Definitions.controllers.map(({ file }) => file).toSorted()).toEqual(files)
  for (const module of Definitions.modules) expect(Definitions.metricsOf(module).length).toBeGreaterThan(0)
})

test("docs/metrics.md describes every metric once", () => {
  for (const metric of Definitions.all) {
    const rows = page.split("\n").filter((line) => line.startsWith(`| \`${metric.name}\` | ${metric.type} |`))
    expect([metric.name, rows.length]).toEqual([metric.name, 1])
    expect(rows[0]?.split(" | ").at(-1)?.length).toBeGreaterThan(12)
  }
})
