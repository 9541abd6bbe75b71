/**
 * Metrics as OpenMetrics 1.0: Prometheus' text grown strict, with exemplars. A bucket that has one shows the trace of its newest
 * value, so that a slow reconcile on a graph leads to its trace.
 *
 * `_created` series are left out, as the format allows: a Prometheus that is not told to read them as times stores them as
 * series, which would double its load for what `process_start_time_seconds` says. Time stamps are left out as well: values are
 * those of the moment of the scrape.
 */
import type { Metric } from "@homeostat/runtime/telemetry/Metric"
import type { Distribution, Exemplar, Family, Scalar } from "@homeostat/runtime/telemetry/Metrics"
import { bound, braced, escapeQuoted, number, ordered, type Page, pairs } from "./Exposition.ts"

const contentType = "application/openmetrics-text; version=1.0.0; charset=utf-8"

const counted = "_total"

/** The name of a family, which is that of a counter without its end. */
const familyName = ({ name, type }: Metric): string =>
  type === "counter" && name.endsWith(counted) ? name.slice(0, -counted.length) : name

/** Units by which a name may end; others are counts of things, which have none. */
const units = ["seconds", "bytes"]

/** Here the bound of a bucket is a number with a point: `1.0`, not `1`. */
const canonical = (value: number): string => {
  const text = bound(value)
  return /^\d+$/.test(text) ? `${text}.0` : text
}

const exemplarOf = (exemplar: Exemplar | undefined): string =>
  exemplar === undefined
    ? ""
    : ` # {trace_id="${escapeQuoted(exemplar.traceId)}",span_id="${escapeQuoted(exemplar.spanId)}"} ${number(exemplar.value)} ${(exemplar.at / 1000).toFixed(3)}`

const scalar = (metric: Metric, { labels, value }: Scalar): string => {
  const end = metric.type === "counter" ? counted : ""
  return `${familyName(metric)}${end}${braced(pairs(metric, labels))} ${number(value)}\n`
}

const distribution = (metric: Metric, { bounds, counts, exemplars, labels, sum }: Distribution): string => {
  const own = pairs(metric, labels)
  const before = own === "" ? "" : `${own},`
  let page = ""
  let count = 0
  for (const [index, within] of counts.entries()) {
    count += within
    const le = canonical(bounds[index] ?? Number.POSITIVE_INFINITY)
    page += `${metric.name}_bucket{${before}le="${le}"} ${count}${exemplarOf(exemplars?.[index])}\n`
  }
  return `${page}${metric.name}_count${braced(own)} ${count}\n${metric.name}_sum${braced(own)} ${number(sum)}\n`
}

const family = ({ metric, series }: Family): string => {
  const name = familyName(metric)
  const unit = units.find((unit) => name.endsWith(`_${unit}`))
  const lines = series.map((each) => ("counts" in each ? distribution(metric, each) : scalar(metric, each)))
  return [
    `# TYPE ${name} ${metric.type}\n`,
    unit === undefined ? "" : `# UNIT ${name} ${unit}\n`,
    `# HELP ${name} ${escapeQuoted(metric.help)}\n`,
    ...lines
  ].join("")
}

/** Renders a page. A metric without a series is left out. */
export const render = (families: ReadonlyArray<Family>): Page => ({
  contentType,
  body: `${ordered(families).map(family).join("")}# EOF\n`
})

/** The format, for who has several to choose from. */
export const format = { mediaType: "application/openmetrics-text", version: "1.0.0", render }
