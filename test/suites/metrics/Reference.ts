/**
 * `docs/metrics.md`, made from `telemetry/Metric.ts`: what the definitions say, and what the comment above each of them says.
 * Run, it prints the page: `bun test/suites/metrics/Reference.ts > docs/metrics.md`.
 */
import { join } from "node:path"
import * as Metric from "@homeostat/runtime/telemetry/Metric"

const root = join(import.meta.dir, "../../..")

/** The page. */
export const path = "docs/metrics.md"

/** The command that makes it. */
export const command = `bun test/suites/metrics/Reference.ts > ${path}`

interface Entry {
  readonly metric: Metric.Metric
  /** The comment above it, in one paragraph. */
  readonly text: string
}

const source = await Bun.file(join(root, "runtime/src/telemetry/Metric.ts")).text()

/** A comment as a paragraph. What it refers to stands there by its name in the program, or by the values that it lists. */
const paragraph = (comment: string): string =>
  comment
    .split("\n")
    .map((line) => line.replace(/^\s*\/?\*+\/?\s?/, "").replace(/\s*\*\/$/, ""))
    .join(" ")
    .replaceAll(/\{@link (\w+)\}/g, (_, name: string) => referred(name))
    .replaceAll("|", "\\|")
    .replaceAll(/\s+/g, " ")
    .trim()

const referred = (name: string): string => {
  const value = Object.entries(Metric).find(([key]) => key === name)?.[1]
  if (value === undefined) return `\`${name}\``
  return "type" in value ? `\`${value.name}\`` : value.map((word) => `\`${word}\``).join(", ")
}

/** The metrics in the order of the source. */
const entries: ReadonlyArray<Entry> = Object.entries(Metric)
  .flatMap(([key, value]) => ("type" in value ? [{ key, metric: value }] : []))
  .map(({ key, metric }) => ({ metric, at: source.indexOf(`export const ${key} =`) }))
  .toSorted((one, other) => one.at - other.at)
  .map(({ at, metric }) => ({ metric, text: paragraph(source.slice(source.lastIndexOf("/**", at), at)) }))

const table = (rows: ReadonlyArray<ReadonlyArray<string>>): string =>
  rows.map((cells) => `| ${cells.join(" | ")} |\n`).join("")

const labelsOf = ({ labels }: Metric.Metric): string => labels.map((label) => `\`${label}\``).join(", ")

const section = (title: string, about: string, chosen: ReadonlyArray<Entry>): string =>
  `## ${title}\n\n${about}\n\n${table([
    ["Metric", "Type", "Labels", "What it tells"],
    ["---", "---", "---", "---"],
    ...chosen.map(({ metric, text }) => [`\`${metric.name}\``, metric.type, labelsOf(metric), text])
  ])}`

const buckets = (chosen: ReadonlyArray<Entry>): string => {
  const histograms = chosen.flatMap(({ metric }) => (metric.type === "histogram" ? [metric] : []))
  const groups = Map.groupBy(histograms, (metric) => metric.buckets.join(" "))
  return table([
    ["Histograms", "Bounds of their buckets"],
    ["---", "---"],
    ...Array.from(groups, ([bounds, metrics]) => [metrics.map(({ name }) => `\`${name}\``).join(", "), bounds])
  ])
}

const isOurs = ({ metric }: Entry): boolean => metric.name.startsWith("homeostat_")
const isProcess = ({ metric }: Entry): boolean => metric.name.startsWith("process_")

/** The page's text. */
export const text = `# Metrics

<!-- Made from runtime/src/telemetry/Metric.ts by \`${command}\`. A test fails if the two differ. -->

A manager serves its metrics at \`--metrics-bind-address\` (default \`:8080\`), path \`/metrics\`: as Prometheus' text (0.0.4), or as
OpenMetrics 1.0 for a reader that likes it better, as Prometheus does by default. OpenMetrics has exemplars: a bucket of how long
reconciles take, or of how fresh they are, shows the trace of its newest value, if that trace was exported. Store them with
Prometheus' \`--enable-feature=exemplar-storage\`.

Every series is there from the start, at 0, on a standby too, except where it has labels that only what happens can tell (codes,
hosts, priorities). No label names an object: 1,000 objects that come and go add no series.

\`deploy/monitoring\` has a Grafana dashboard, which also works for operators on controller-runtime as far as the names are the same,
alerts (PrometheusRule), and a ServiceMonitor.

${section("Homeostat's own", "How fresh the reconciles are, how the cache and its watches do, what waits in back-off, and what is lost.", entries.filter(isOurs))}
${section(
  "As controller-runtime and client-go have them",
  "The same names, types, labels and buckets, so that dashboards and alerts for them work.",
  entries.filter((entry) => !isOurs(entry) && !isProcess(entry))
)}
${section("The process", "As Prometheus' client libraries have them.", entries.filter(isProcess))}
## Buckets

Upper bounds, in the unit that the name ends with.

${buckets(entries)}`

if (import.meta.main) process.stdout.write(text)
