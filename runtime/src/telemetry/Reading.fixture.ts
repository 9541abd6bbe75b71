/**
 * For tests: what a registry holds, by names as Prometheus writes them.
 */
import type { Registry } from "./Metrics.ts"

/** `visits_total{page="home"}` and its value; of a histogram `…_count` and `…_sum`. */
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
