/** Renders `docs/metrics.md` from the metrics' definitions and comments, for `bun run generate`. */
import { join } from "node:path"
import { perBackup } from "@homeostat/backup/run/Metrics"
import type { Metric } from "@homeostat/runtime/telemetry/Metric"
import * as Definitions from "./Definitions.ts"

const root = join(import.meta.dir, "../../..")

export const path = "docs/metrics.md"

interface Entry {
  readonly metric: Metric
  /** The comment as one paragraph. */
  readonly text: string
}

/** Renders a comment as one paragraph. A link becomes the name of its metric, or the values of its list. */
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

const entries = (await Promise.all(Definitions.runtime.map(entriesOf))).flat()
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

/** The title and the first paragraph of a controller's section. */
const aboutController = (file: string): readonly [string, string] => {
  const [title, about] = sections[file] ?? []
  if (title === undefined || about === undefined)
    throw new Error(`missing section in Reference.ts: ${file} (add its title and text)`)
  return [title, about]
}

const sections: { readonly [file: string]: readonly [string, string] } = {
  "controllers/backup/run/Metrics.ts": [
    "Backups",
    `Up to ${perBackup} series for each Backup. Counters begin at 0 with each leader. Gauges follow the status.

The labels \`namespace\` and \`name\` are the Backup's, because the ServiceMonitor has \`honorLabels: true\`. Without it, Prometheus would
write the manager's namespace there and rename the Backup's to \`exported_namespace\`. The alerts would then confuse Backups of the same
name in several namespaces.`
  ]
}

const isOurs = ({ metric }: Entry): boolean => metric.name.startsWith("homeostat_")
const isProcess = ({ metric }: Entry): boolean => metric.name.startsWith("process_")

export const text = `# Metrics

<!-- Generated from ${Definitions.modules.map(({ file }) => file).join(", ")} by \`bun run generate\`. A test fails if the two differ. -->

A manager serves its metrics at \`--metrics-bind-address\` (default \`:8080\`), path \`/metrics\`: as Prometheus' text (0.0.4), or as
OpenMetrics 1.0 for a client that prefers it, as Prometheus does by default. OpenMetrics has exemplars: a bucket of the
duration or freshness of reconciles shows the trace of its newest value, if that trace was exported. Store exemplars with
Prometheus' \`--enable-feature=exemplar-storage\`.

Every series of the runtime exists from the start, at 0, also on a standby. Series with labels for codes, hosts and priorities appear
later. None of their labels names an object: 1,000 objects that come and go add no series.

A controller may have metrics of its own, whose labels may name its objects. Only the leader shows them, and the manager removes the
series of a deleted object. [Concepts](concepts.md#metrics-of-a-controller) shows how to define such metrics.

\`deploy/monitoring\` has a Grafana dashboard, which also works for operators on controller-runtime as far as the names are the same,
alerts (PrometheusRule), and a ServiceMonitor.

${section("Homeostat's own", "Freshness of reconciles, the cache and its watches, back-off, and dropped Events and spans.", entries.filter(isOurs))}
${section(
  "Metrics of controller-runtime and client-go",
  "The same names, types, labels and buckets, so that dashboards and alerts for them work.",
  entries.filter((entry) => !isOurs(entry) && !isProcess(entry))
)}
${section("The process", "The process metrics of Prometheus' client libraries.", entries.filter(isProcess))}
${ofControllers.map(({ entries, file }) => section(...aboutController(file), entries)).join("\n")}
## Buckets

Upper bounds, in the unit at the end of the name.

${buckets([...entries, ...ofControllers.flatMap(({ entries }) => entries)])}`
