/**
 * Metrics in OpenMetrics 1.0: a stricter form of Prometheus' text format, with exemplars. The exemplar of a bucket is the trace of
 * its latest value, so that a slow reconcile on a graph links to its trace.
 *
 * The format allows to omit `_created` series. By default Prometheus would store them as ordinary series, which doubles its load
 * without more information than `process_start_time_seconds`. Timestamps are omitted as well: values are those of the scrape.
 */
import type { Metric } from "@homeostat/runtime/telemetry/Metric"
import type { Distribution, Exemplar, Family, Scalar } from "@homeostat/runtime/telemetry/Metrics"
import { bound, braced, escapeQuoted, number, ordered, type Page, pairs } from "./Exposition.ts"

const contentType = "application/openmetrics-text; version=1.0.0; charset=utf-8"

const counted = "_total"

/** The name of a family: for a counter, without its suffix. */
const familyName = ({ name, type }: Metric): string =>
  type === "counter" && name.endsWith(counted) ? name.slice(0, -counted.length) : name

/** Units at the end of a name; other metrics have no unit. */
const units = ["seconds", "bytes"]

/** In this format the bound of a bucket has a decimal point: `1.0`, not `1`. */
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

/**
 * Renders a page. Omits metrics without series.
 *
 * @example
 * ```ts
 * const registry = Metrics.make()
 * registry.counter(Metric.counter("sites_renewals_total", "Renewed certificates"), {}).add()
 * OpenMetrics.render(registry.read())
 * ```
 */
export const render = (families: ReadonlyArray<Family>): Page => ({
  contentType,
  body: `${ordered(families).map(family).join("")}# EOF\n`
})

/** The format, for the choice among several. */
export const format = { mediaType: "application/openmetrics-text", version: "1.0.0", render }
