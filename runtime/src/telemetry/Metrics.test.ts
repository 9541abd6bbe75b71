import { describe, expect, test } from "bun:test"
import type { Counter, Gauge, Histogram } from "./Metric.ts"
import * as Metric from "./Metric.ts"
import * as Metrics from "./Metrics.ts"

const visits: Counter<"page" | "code"> = {
  type: "counter",
  name: "visits_total",
  help: "Visits.",
  labels: ["page", "code"]
}
const guests: Gauge<"room"> = { type: "gauge", name: "guests", help: "Guests.", labels: ["room"] }
const seconds: Histogram = { type: "histogram", name: "seconds", help: "Seconds.", labels: [], buckets: [0.1, 1, 10] }

const series = (registry: Metrics.Registry, name: string) =>
  registry.read().find(({ metric }) => metric.name === name)?.series

describe("a registry", () => {
  test("counts each set of labels by itself, whatever the order in which they are given", () => {
    const registry = Metrics.make()
    const home = registry.counter(visits, { page: "home", code: "200" })
    home.add()
    home.add(2)
    registry.counter(visits, { code: "404", page: "home" }).add()
    registry.counter(visits, { code: "200", page: "home" }).add()
    expect(series(registry, "visits_total")).toEqual([
      { labels: ["home", "200"], value: 4 },
      { labels: ["home", "404"], value: 1 }
    ])
  })

  test("does not mix up labels whose values run into each other", () => {
    const registry = Metrics.make()
    registry.counter(visits, { page: "a", code: "bc" }).add()
    registry.counter(visits, { page: "ab", code: "c" }).add()
    expect(series(registry, "visits_total")).toHaveLength(2)
  })

  test("has a series from the moment it is bound, at 0", () => {
    const registry = Metrics.make()
    registry.counter(visits, { page: "home", code: "200" })
    registry.histogram(seconds, {})
    expect(series(registry, "visits_total")).toEqual([{ labels: ["home", "200"], value: 0 }])
    expect(series(registry, "seconds")).toEqual([{ labels: [], bounds: [0.1, 1, 10], counts: [0, 0, 0, 0], sum: 0 }])
  })

  test("has gauges that are set, and moved both ways", () => {
    const registry = Metrics.make()
    const room = registry.gauge(guests, { room: "1" })
    room.set(5)
    room.add(-2)
    expect(series(registry, "guests")).toEqual([{ labels: ["1"], value: 3 }])
  })

  test("puts a value into the first bucket whose bound it does not exceed, the bound itself included", () => {
    const registry = Metrics.make()
    const { observe } = registry.histogram(seconds, {})
    for (const value of [0, 0.1, 0.11, 1, 1.5, 10, 10.1, 1000]) observe(value)
    expect(series(registry, "seconds")).toEqual([
      { labels: [], bounds: [0.1, 1, 10], counts: [2, 2, 2, 2], sum: 1022.81 }
    ])
  })

  test("finds the bucket that a search from below finds, for every histogram there is", () => {
    for (const metric of Object.values(Metric)) {
      if (!("buckets" in metric)) continue
      for (const bound of metric.buckets) {
        for (const value of [bound * 0.999, bound, bound * 1.001]) {
          const registry = Metrics.make()
          registry.histogram<string>(metric, {}).observe(value)
          const expected = metric.buckets.findIndex((other) => value <= other)
          const [read] = registry.read()[0]?.series ?? []
          expect(read !== undefined && "counts" in read && read.counts.indexOf(1)).toBe(
            expected < 0 ? metric.buckets.length : expected
          )
        }
      }
    }
  })

  test("asks collectors before it is read, until they are taken back", () => {
    const registry = Metrics.make()
    let waiting = 7
    const forget = registry.onCollect(() => registry.gauge(guests, { room: "1" }).set(waiting))
    expect(series(registry, "guests")).toEqual([{ labels: ["1"], value: 7 }])
    forget()
    waiting = 9
    expect(series(registry, "guests")).toEqual([{ labels: ["1"], value: 7 }])
  })

  test("keeps the newest exemplar of each bucket, and lets go of none for a value without a trace", () => {
    const registry = Metrics.make()
    const { observe } = registry.histogram(seconds, {})
    const trace = (traceId: string, at: number) => ({ traceId, spanId: "s", at })
    observe(0.5, trace("first", 1))
    observe(0.7, trace("second", 2))
    observe(0.6)
    observe(70, trace("slow", 3))
    expect(series(registry, "seconds")).toEqual([
      {
        labels: [],
        bounds: [0.1, 1, 10],
        counts: [0, 3, 0, 1],
        sum: 71.8,
        exemplars: [
          undefined,
          { traceId: "second", spanId: "s", at: 2, value: 0.7 },
          undefined,
          { traceId: "slow", spanId: "s", at: 3, value: 70 }
        ]
      }
    ])
  })

  test("gives a snapshot, which later counting leaves alone", () => {
    const registry = Metrics.make()
    const { observe } = registry.histogram(seconds, {})
    const before = registry.read()
    observe(1)
    expect(before).toEqual([
      { metric: seconds, series: [{ labels: [], bounds: [0.1, 1, 10], counts: [0, 0, 0, 0], sum: 0 }] }
    ])
  })
})

test("a counter that follows a total goes on when the total begins anew", () => {
  const registry = Metrics.make()
  const follow = Metrics.following(registry.counter(visits, { page: "home", code: "200" }))
  for (const total of [3, 5, 5, 2, 4]) follow(total)
  expect(series(registry, "visits_total")).toEqual([{ labels: ["home", "200"], value: 9 }])
})

describe("the definitions", () => {
  const all: ReadonlyArray<Metric.Metric> = Object.values(Metric).flatMap((value) => ("type" in value ? [value] : []))

  test("have names of their own", () => {
    expect(new Set(all.map(({ name }) => name)).size).toBe(all.length)
  })

  test("have names that OpenMetrics takes: counters end in _total, and no two metrics make the same series", () => {
    const samples = all.flatMap(({ name, type }) => {
      expect([name, name.endsWith("_total")]).toEqual([name, type === "counter"])
      expect(name).not.toMatch(/_(created|bucket|count|sum|info)$/)
      return type === "histogram" ? ["_bucket", "_count", "_sum"].map((end) => `${name}${end}`) : [name]
    })
    expect(new Set(samples).size).toBe(samples.length)
  })

  test("have help, and labels that Prometheus does not keep to itself", () => {
    for (const { help, labels, name } of all) {
      expect([name, help.trim() === help && help.length > 10]).toEqual([name, true])
      for (const label of labels) expect(label).toMatch(/^(?!le$|quantile$|__)[a-z][a-z_]*$/)
    }
  })

  test("have buckets that rise", () => {
    for (const metric of all) {
      if (metric.type === "histogram")
        expect(metric.buckets).toEqual([...new Set(metric.buckets)].sort((a, b) => a - b))
    }
  })
})
