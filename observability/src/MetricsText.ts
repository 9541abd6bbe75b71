/**
 * Metrics as Prometheus' text, format 0.0.4, which everything that scrapes understands.
 *
 * Metrics come in the order of their names and series in the order of their labels, so that two pages differ only where a value
 * does.
 */
import type { Metric } from "@homeostat/runtime/telemetry/Metric"
import type { Distribution, Family, Scalar } from "@homeostat/runtime/telemetry/Metrics"

/** A page, and what it is. */
export interface Page {
  readonly contentType: string
  readonly body: string
}

const contentType = "text/plain; version=0.0.4; charset=utf-8"

const escapeHelp = (text: string): string => text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n")

const escapeLabel = (text: string): string => escapeHelp(text).replaceAll('"', '\\"')

const number = (value: number): string =>
  value === Number.POSITIVE_INFINITY ? "+Inf" : value === Number.NEGATIVE_INFINITY ? "-Inf" : String(value)

/** A bucket's bound as Go writes it (`1e-06`, `1.048576e+06`): queries compare these as text. */
const bound = (value: number): string => {
  const [digits = "", power = "0"] = value.toExponential().split("e")
  return !Number.isFinite(value) || value === 0 || (Number(power) >= -4 && Number(power) < 6)
    ? number(value)
    : `${digits}e${power.slice(0, 1)}${power.slice(1).padStart(2, "0")}`
}

/** `a="1",b="2"`, without the braces. */
const pairs = (metric: Metric, values: ReadonlyArray<string>): string =>
  metric.labels.map((label, index) => `${label}="${escapeLabel(values[index] ?? "")}"`).join(",")

const braced = (labels: string): string => (labels === "" ? "" : `{${labels}}`)

const scalar = (metric: Metric, { labels, value }: Scalar): string =>
  `${metric.name}${braced(pairs(metric, labels))} ${number(value)}\n`

const distribution = (metric: Metric, { bounds, counts, labels, sum }: Distribution): string => {
  const own = pairs(metric, labels)
  const before = own === "" ? "" : `${own},`
  let page = ""
  // A bucket holds everything up to its bound, what is in those before it too.
  let count = 0
  for (const [index, within] of counts.entries()) {
    count += within
    page += `${metric.name}_bucket{${before}le="${bound(bounds[index] ?? Number.POSITIVE_INFINITY)}"} ${count}\n`
  }
  return `${page}${metric.name}_sum${braced(own)} ${number(sum)}\n${metric.name}_count${braced(own)} ${count}\n`
}

const compare = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0)

/** By the first label whose values differ. */
const byLabels = (
  one: { readonly labels: ReadonlyArray<string> },
  other: { readonly labels: ReadonlyArray<string> }
) => {
  for (const [index, value] of one.labels.entries()) {
    const order = compare(value, other.labels[index] ?? "")
    if (order !== 0) return order
  }
  return 0
}

const family = ({ metric, series }: Family): string => {
  const lines = series
    .toSorted(byLabels)
    .map((each) => ("counts" in each ? distribution(metric, each) : scalar(metric, each)))
  return `# HELP ${metric.name} ${escapeHelp(metric.help)}\n# TYPE ${metric.name} ${metric.type}\n${lines.join("")}`
}

/** Renders a page. A metric without a series is left out. */
export const render = (families: ReadonlyArray<Family>): Page => ({
  contentType,
  body: families
    .filter(({ series }) => series.length > 0)
    .toSorted((one, other) => compare(one.metric.name, other.metric.name))
    .map(family)
    .join("")
})
