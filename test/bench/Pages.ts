/** Writes the results of a campaign into the README and docs/performance.md, where `test/suites/docs/Readme.test.ts` compares them. */
import { join } from "node:path"
import type { Outcome } from "./Campaign.ts"
import * as Scenario from "./Scenario.ts"
import * as Table from "./Table.ts"

/** The results of a campaign. */
export interface Results {
  readonly outcomes: ReadonlyArray<Outcome>
  /** The names of the managers in the order of the columns. */
  readonly managers: Table.Names
  readonly size: Pick<Scenario.Size, "objects" | "create">
  /** The description of the versions and the machine. */
  readonly host: string
}

/** A row of the README: its name, its number in a scenario, and the unit. */
interface Row {
  readonly name: string
  readonly scenario: string
  readonly field: string
  readonly unit: string
}

/** The rows of the README. */
export const rows: ReadonlyArray<Row> = [
  { name: "start to ready, empty cluster", scenario: "startup", field: "readyz_median_ms", unit: " ms" },
  { name: "CPU of the start", scenario: "startup", field: "cpu_at_ready_median_ms", unit: " ms" },
  { name: "memory after the start", scenario: "startup", field: "rss_mib", unit: " MiB" },
  { name: "first pass over the converged WebApps", scenario: "cold", field: "reconciled_s", unit: " s" },
  { name: "CPU of the first pass", scenario: "cold", field: "cpu_s", unit: " s" },
  { name: "memory after the first pass", scenario: "cold", field: "rss_5s_mib", unit: " MiB" },
  { name: "peak memory of the first pass", scenario: "cold", field: "peak_rss_mib", unit: " MiB" },
  { name: "CPU per new WebApp", scenario: "create-headless", field: "cpu_ms_per_webapp", unit: " ms" },
  { name: "peak memory of the creations", scenario: "create-headless", field: "peak_rss_mib", unit: " MiB" },
  { name: "writes per new WebApp", scenario: "create-headless", field: "writes_per_webapp", unit: "" },
  { name: "drift to repair, median", scenario: "latency", field: "drift_to_repair_p50_ms", unit: " ms" },
  { name: "drift to repair, p99", scenario: "latency", field: "drift_to_repair_p99_ms", unit: " ms" },
  { name: "CPU of drifts and changes", scenario: "latency", field: "cpu_s", unit: " s" },
  { name: "CPU of an idle minute", scenario: "idle", field: "cpu_s", unit: " s" },
  {
    name: "SIGTERM of the leader to repaired drift",
    scenario: "failover",
    field: "sigterm_repair_median_ms",
    unit: " ms"
  }
]

/** The titles of a row's scenario and number in the table of docs/performance.md. */
export const titlesOf = ({ scenario, field }: Row): readonly [scenario: string, number: string] => {
  const found = Scenario.all.find(({ name }) => name === scenario)
  return [found?.title ?? "", found?.measures.find((measure) => measure.field === field)?.label ?? ""]
}

/** The text between these lines is replaced. */
const begin = "<!-- Made by `bun run bench --short --publish`. -->"
const end = "<!-- The end of the results of the bench. -->"

/** The page with other results. Throws an error if it has no place for them. */
export const replaced = (page: string, text: string): string => {
  const [from, to] = [page.indexOf(begin), page.indexOf(end)]
  if (from < 0 || to < from) throw new Error(`no place for the results: missing ${from < 0 ? begin : end}`)
  return `${page.slice(0, from)}${begin}\n\n${text.trim()}\n\n${page.slice(to)}`
}

const count = (value: number): string => value.toLocaleString("en")

/** The results in the README. */
export const readme = ({ managers, outcomes, size }: Results, now: Date): string => {
  const [first, second, ...others] = managers
  const lines = rows.map((row) => {
    const kept = outcomes.find(({ scenario }) => scenario.name === row.scenario)?.kept
    const middle = (manager: string) => Table.median(Table.values(kept?.get(manager) ?? [], row))
    const cell = (value: number | undefined) => (value === undefined ? "–" : `${Table.text(value)}${row.unit}`)
    const [a, b] = [middle(first), middle(second)]
    const ratio = a === undefined || !b ? "–" : (a / b).toFixed(2)
    return [row.name, cell(a), cell(b), ratio, ...others.map((other) => cell(middle(other)))]
  })
  const day = now.toLocaleDateString("en-GB", { day: "numeric", month: "long", year: "numeric" })
  const head = ["", first, second, "ratio", ...others]
  return [
    `Measured on ${day}, with ${count(size.objects)} converged WebApps and ${count(size.create)} new ones.`,
    "The same controller runs on each library, on one API server ([all numbers](docs/performance.md#results)).",
    `The ratio is ${first} divided by ${second}.`,
    "",
    ...[head, head.map((_, index) => (index === 0 ? "---" : "--:")), ...lines].map((row) => `| ${row.join(" | ")} |`)
  ].join("\n")
}

/** The results in docs/performance.md. */
export const performance = ({ host, managers, outcomes, size }: Results): string => {
  const sizes = `${count(size.objects)} converged WebApps with three children each; ${count(size.create)} created at once.`
  return [host, sizes, "", Table.render(outcomes, managers)].join("\n")
}

const root = join(import.meta.dir, "../..")

/** Writes the results into both pages, and formats these. */
export const write = async (results: Results): Promise<void> => {
  const texts = { "README.md": readme(results, new Date()), "docs/performance.md": performance(results) }
  for (const [page, text] of Object.entries(texts)) {
    const path = join(root, page)
    await Bun.write(path, replaced(await Bun.file(path).text(), text))
  }
  const format = [join(root, "node_modules/.bin/biome"), "format", "--write", ...Object.keys(texts)]
  const { exitCode, stderr } = Bun.spawnSync(format, { cwd: root })
  if (exitCode !== 0) throw new Error(`the pages are written, but not formatted: ${stderr}`)
}
