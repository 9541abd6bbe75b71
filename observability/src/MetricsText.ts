/** Metrics in Prometheus' text format 0.0.4, which every scraper supports. */
import type { Metric } from "@homeostat/runtime/telemetry/Metric"
import type { Distribution, Family, Scalar } from "@homeostat/runtime/telemetry/Metrics"
import { bound, braced, escapeLine, number, ordered, type Page, pairs } from "./Exposition.ts"

const contentType = "text/plain; version=0.0.4; charset=utf-8"

const scalar = (metric: Metric, { labels, value }: Scalar): string =>
  `${metric.name}${braced(pairs(metric, labels))} ${number(value)}\n`

const distribution = (metric: Metric, { bounds, counts, labels, sum }: Distribution): string => {
  const own = pairs(metric, labels)
  const before = own === "" ? "" : `${own},`
  let page = ""
  // Buckets are cumulative.
  let count = 0
  for (const [index, within] of counts.entries()) {
    count += within
    page += `${metric.name}_bucket{${before}le="${bound(bounds[index] ?? Number.POSITIVE_INFINITY)}"} ${count}\n`
  }
  return `${page}${metric.name}_sum${braced(own)} ${number(sum)}\n${metric.name}_count${braced(own)} ${count}\n`
}

const family = ({ metric, series }: Family): string => {
  const lines = series.map((each) => ("counts" in each ? distribution(metric, each) : scalar(metric, each)))
  return `# HELP ${metric.name} ${escapeLine(metric.help)}\n# TYPE ${metric.name} ${metric.type}\n${lines.join("")}`
}

/**
 * Renders a page. Omits metrics without series.
 *
 * @example
 * ```ts
 * const registry = Metrics.make()
 * registry.counter(Metric.counter("sites_renewals_total", "Renewed certificates"), {}).add()
 * MetricsText.render(registry.read())
 * ```
 */
export const render = (families: ReadonlyArray<Family>): Page => ({
  contentType,
  body: ordered(families).map(family).join("")
})

/** The format, for the choice among several. */
export const format = { mediaType: "text/plain", version: "0.0.4", render }
