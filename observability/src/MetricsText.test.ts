import { describe, expect, test } from "bun:test"
import type { Counter, Gauge, Histogram } from "@homeostat/runtime/telemetry/Metric"
import * as Metrics from "@homeostat/runtime/telemetry/Metrics"
import * as MetricsText from "./MetricsText.ts"

const visits: Counter<"page" | "code"> = {
  type: "counter",
  name: "visits_total",
  help: "Visits, by page.",
  labels: ["page", "code"]
}
const guests: Gauge = { type: "gauge", name: "guests", help: "Guests.", labels: [] }
const seconds: Histogram<"room"> = {
  type: "histogram",
  name: "seconds",
  help: "Seconds.",
  labels: ["room"],
  buckets: [0.1, 1]
}

const page = (fill: (registry: Metrics.Registry) => void): string => {
  const registry = Metrics.make()
  fill(registry)
  return MetricsText.render(registry.read()).body
}

describe("MetricsText.render", () => {
  test("sets the content type", () => {
    expect(MetricsText.render([]).contentType).toBe("text/plain; version=0.0.4; charset=utf-8")
  })

  test("writes help and type once for each metric, and a line for each series", () => {
    const text = page(({ counter, gauge }) => {
      gauge(guests, {}).set(-1.5)
      counter(visits, { page: "home", code: "404" }).add()
      counter(visits, { page: "home", code: "200" }).add(1200)
      counter(visits, { page: "about", code: "200" })
    })
    expect(text).toBe(`# HELP guests Guests.
# TYPE guests gauge
guests -1.5
# HELP visits_total Visits, by page.
# TYPE visits_total counter
visits_total{page="about",code="200"} 0
visits_total{page="home",code="200"} 1200
visits_total{page="home",code="404"} 1
`)
  })

  test("does not depend on the order of the counts", () => {
    const one = page(({ counter, gauge }) => {
      gauge(guests, {}).set(1)
      counter(visits, { page: "a", code: "1" })
      counter(visits, { page: "b", code: "1" })
    })
    const other = page(({ counter, gauge }) => {
      counter(visits, { page: "b", code: "1" })
      counter(visits, { page: "a", code: "1" })
      gauge(guests, {}).set(1)
    })
    expect(one).toBe(other)
  })

  test("writes cumulative buckets with +Inf, the sum and the count", () => {
    const text = page(({ histogram }) => {
      const { observe } = histogram({ ...seconds, buckets: [1e-8, 0.1, 1] }, { room: "1" })
      for (const value of [0, 0.05, 0.1, 0.5, 7]) observe(value)
    })
    expect(text).toBe(`# HELP seconds Seconds.
# TYPE seconds histogram
seconds_bucket{room="1",le="1e-08"} 1
seconds_bucket{room="1",le="0.1"} 3
seconds_bucket{room="1",le="1"} 4
seconds_bucket{room="1",le="+Inf"} 5
seconds_sum{room="1"} 7.65
seconds_count{room="1"} 5
`)
  })

  test("writes bucket bounds as Go does", () => {
    const buckets = [1e-8, 0.000025, 0.0001, 0, 1, 999_999, 1e6, 1_048_576, 1e100]
    const text = page(({ histogram }) => histogram({ ...seconds, labels: [], buckets }, {}))
    expect(Array.from(text.matchAll(/le="([^"]+)"/g), ([, bound]) => bound)).toEqual([
      "1e-08",
      "2.5e-05",
      "0.0001",
      "0",
      "1",
      "999999",
      "1e+06",
      "1.048576e+06",
      "1e+100",
      "+Inf"
    ])
  })

  test("writes a histogram without labels", () => {
    const text = page(({ histogram }) => histogram({ ...seconds, labels: [], buckets: [1] }, {}).observe(2))
    expect(text).toContain('seconds_bucket{le="1"} 0\nseconds_bucket{le="+Inf"} 1\nseconds_sum 2\nseconds_count 1\n')
  })

  test("escapes line breaks, quotes and backslashes", () => {
    const text = page(({ counter }) =>
      counter({ ...visits, help: 'A "back\\slash"\nand a line.' }, { page: 'say "hi"\\\nthere', code: "é" }).add()
    )
    expect(text).toBe(`# HELP visits_total A "back\\\\slash"\\nand a line.
# TYPE visits_total counter
visits_total{page="say \\"hi\\"\\\\\\nthere",code="é"} 1
`)
  })

  test("writes infinite numbers and NaN as Prometheus does", () => {
    for (const [value, text] of [
      [Number.POSITIVE_INFINITY, "+Inf"],
      [Number.NEGATIVE_INFINITY, "-Inf"],
      [Number.NaN, "NaN"]
    ] as const) {
      expect(page(({ gauge }) => gauge(guests, {}).set(value))).toContain(`\nguests ${text}\n`)
    }
  })

  test("omits a metric without a series", () => {
    expect(MetricsText.render([{ metric: guests, series: [] }]).body).toBe("")
  })
})
