/**
 * `docs/metrics.md`, made from the modules that define metrics: what the definitions say, and what the comment above each of them
 * says. `bun run generate` writes it.
 */
import { join } from "node:path"
import { perBackup } from "@homeostat/backup/Metrics"
import type { Metric } from "@homeostat/runtime/telemetry/Metric"
import * as Definitions from "./Definitions.ts"

const root = join(import.meta.dir, "../../..")

/** The page. */
export const path = "docs/metrics.md"

interface Entry {
  readonly metric: Metric
  /** The comment above it, in one paragraph. */
  readonly text: string
}

/** A comment as a paragraph. What it refers to stands there by its name in the program, or by the values that it lists. */
const paragraph = (comment: string, { exports }: Definitions.Module): string =>
  comment
    .split("\n")
    .map((line) => line.replace(/^\s*\/?\*+\/?\s?/, "").replace(/\s*\*\/$/, ""))
    .join(" ")
    .replaceAll(/\{@link (\w+)\}/g, (_, name: string) => referred(name, exports[name]))
    .replaceAll("|", "\\|")
    .replaceAll(/\s+/g, " ")
    .trim()

const referred = (name: string, value: unknown): string => {
  if (Array.isArray(value)) return value.map((word) => `\`${word}\``).join(", ")
  return `\`${typeof value === "object" && value !== null && "name" in value ? value.name : name}\``
}

/** The metrics of a module in the order of its source. */
const entriesOf = async (module: Definitions.Module): Promise<ReadonlyArray<Entry>> => {
  const source = await Bun.file(join(root, module.file)).text()
  return Definitions.metricsOf(module)
    .map(([key, metric]) => ({ metric, at: source.indexOf(`export const ${key} =`) }))
    .toSorted((one, other) => one.at - other.at)
    .map(({ at, metric }) => ({ metric, text: paragraph(source.slice(source.lastIndexOf("/**", at), at), module) }))
}

const entries = await entriesOf(Definitions.runtime)
const ofControllers = await Promise.all(
  Definitions.controllers.map(async (module) => ({ file: module.file, entries: await entriesOf(module) }))
)

const table = (rows: ReadonlyArray<ReadonlyArray<string>>): string =>
  rows.map((cells) => `| ${cells.join(" | ")} |\n`).join("")

const labelsOf = ({ labels }: Metric): string => labels.map((label) => `\`${label}\``).join(", ")

const section = (title: string, about: string, chosen: ReadonlyArray<Entry>): string =>
  `## ${title}\n\n${about}\n\n${table([
    ["Metric", "Type", "Labels", "Meaning"],
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

/** Title and first paragraph of a controller's section. */
const aboutController = (file: string): readonly [string, string] => {
  const [title, about] = sections[file] ?? []
  if (title === undefined || about === undefined) throw new Error(`Say in Reference.ts what the metrics of ${file} are`)
  return [title, about]
}

const sections: { readonly [file: string]: readonly [string, string] } = {
  "controllers/backup/Metrics.ts": [
    "Backups",
    `Up to ${perBackup} series for each Backup. Counters begin at 0 with each leader; gauges say what the status says.

The labels \`namespace\` and \`name\` are the Backup's. The ServiceMonitor has \`honorLabels: true\` for that: without it, Prometheus
puts the manager's namespace there and the Backup's into \`exported_namespace\`, and the alerts take Backups of the same name in
several namespaces for one.`
  ]
}

const isOurs = ({ metric }: Entry): boolean => metric.name.startsWith("homeostat_")
const isProcess = ({ metric }: Entry): boolean => metric.name.startsWith("process_")

/** The page's text. */
export const text = `# Metrics

<!-- Made from ${Definitions.modules.map(({ file }) => file).join(", ")} by \`bun run generate\`. A test fails if the two differ. -->

A manager serves its metrics at \`--metrics-bind-address\` (default \`:8080\`), path \`/metrics\`: as Prometheus' text (0.0.4), or as
OpenMetrics 1.0 for a reader that likes it better, as Prometheus does by default. OpenMetrics has exemplars: a bucket of how long
reconciles take, or of how fresh they are, shows the trace of its newest value, if that trace was exported. Store them with
Prometheus' \`--enable-feature=exemplar-storage\`.

Every series of the runtime is there from the start, at 0, on a standby too, except where it has labels that only what happens can
tell (codes, hosts, priorities). None of their labels names an object: 1,000 objects that come and go add no series.

A controller may have metrics of its own, whose labels may name its objects. They are there while it leads, so that each object
is told of by one replica, and those of an object go when it is gone. How a controller gets some is in
[concepts](concepts.md#metrics-of-a-controller).

\`deploy/monitoring\` has a Grafana dashboard, which also works for operators on controller-runtime as far as the names are the same,
alerts (PrometheusRule), and a ServiceMonitor.

${section("Homeostat's own", "How fresh the reconciles are, how the cache and its watches do, what waits in back-off, and what is lost.", entries.filter(isOurs))}
${section(
  "As controller-runtime and client-go have them",
  "The same names, types, labels and buckets, so that dashboards and alerts for them work.",
  entries.filter((entry) => !isOurs(entry) && !isProcess(entry))
)}
${section("The process", "As Prometheus' client libraries have them.", entries.filter(isProcess))}
${ofControllers.map(({ entries, file }) => section(...aboutController(file), entries)).join("\n")}
## Buckets

Upper bounds, in the unit that the name ends with.

${buckets([...entries, ...ofControllers.flatMap(({ entries }) => entries)])}`
