/** The number of series of each metric, whatever the names of objects are. */
import { describe, expect, test } from "bun:test"
import type { Metric } from "@homeostat/runtime/telemetry/Metric"
import * as Metrics from "@homeostat/runtime/telemetry/Metrics"
import { all } from "./Definitions.ts"

const more = 500

const labelsOf = ({ labels }: Metric, namespace: string, n: number) =>
  Object.fromEntries(labels.map((label) => [label, label === "namespace" ? namespace : `${label}-${n}`]))

/** Counts once in a series. */
const count = (registry: Metrics.Registry, metric: Metric, namespace: string, n: number): void => {
  const labels = labelsOf(metric, namespace, n)
  if (metric.type === "counter") registry.counter(metric, labels).add()
  else if (metric.type === "gauge") registry.gauge(metric, labels).set(1)
  else registry.histogram(metric, labels).observe(1)
}

const amountOf = (each: Metrics.Scalar | Metrics.Distribution): number => ("sum" in each ? each.sum : each.value)

const seriesOf = (registry: Metrics.Registry, { name }: Metric) =>
  registry.read().find(({ metric }) => metric.name === name)?.series ?? []

describe("A full metric", () => {
  for (const metric of all.filter(({ labels }) => labels.length > 0)) {
    test(`${metric.name} takes no further series, and reports that`, () => {
      const registry = Metrics.make()
      for (let n = 0; n < Metrics.mostSeries + more; n++) count(registry, metric, "hostile", n)
      const told: Array<string> = []
      const series = registry.read((error) => told.push(String(error)))[0]?.series ?? []
      const rest = series.find(({ labels }) => labels.includes(Metrics.others))
      const isGauge = metric.type === "gauge"
      expect(series).toHaveLength(Metrics.mostSeries + (isGauge ? 0 : 1))
      expect(rest === undefined ? 0 : amountOf(rest)).toBe(isGauge ? 0 : more)
      expect(told.join()).toContain(
        `the metric ${metric.name} has too many series (at most ${Metrics.mostSeries}): further ones `
      )
      // A place that is free again is used.
      registry.remove(metric, labelsOf(metric, "hostile", 7))
      count(registry, metric, "hostile", Metrics.mostSeries + more)
      expect(seriesOf(registry, metric).at(-1)?.labels).toEqual(
        Object.values(labelsOf(metric, "hostile", Metrics.mostSeries + more))
      )
    })
  }

  for (const metric of all.filter(({ labels }) => labels.includes("namespace"))) {
    test(`${metric.name} gives a namespace with few series their places`, () => {
      const registry = Metrics.make()
      for (let n = 0; n < Metrics.mostSeries + more; n++) count(registry, metric, "hostile", n)
      for (let n = 0; n < more; n++) count(registry, metric, "honest", n)
      for (let n = 0; n < Metrics.mostSeries; n++) count(registry, metric, "hostile", n)
      const of = (namespace: string) =>
        seriesOf(registry, metric).filter(({ labels }) => labels[metric.labels.indexOf("namespace")] === namespace)
      expect(of("honest")).toHaveLength(more)
      expect(of("hostile")).toHaveLength(Metrics.mostSeries - more)
      registry.remove(metric, { namespace: "honest" })
      expect(of("honest")).toEqual([])
    })
  }
})
