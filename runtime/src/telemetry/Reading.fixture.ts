/** The values of a registry for tests, by their names in Prometheus' format. */
import type { Registry } from "./Metrics.ts"

/** The values by series, such as `visits_total{page="home"}`; for a histogram also `…_count` and `…_sum`. */
export const reading = (registry: Registry, prefix = ""): { readonly [series: string]: number } => {
  const values: Record<string, number> = {}
  for (const { metric, series } of registry.read()) {
    if (!metric.name.startsWith(prefix)) continue
    for (const each of series) {
      const pairs = metric.labels.map((label, index) => `${label}="${each.labels[index]}"`).join(",")
      const labels = pairs === "" ? "" : `{${pairs}}`
      if ("counts" in each) {
        values[`${metric.name}_count${labels}`] = each.counts.reduce((sum, count) => sum + count, 0)
        values[`${metric.name}_sum${labels}`] = each.sum
      } else values[`${metric.name}${labels}`] = each.value
    }
  }
  return values
}
