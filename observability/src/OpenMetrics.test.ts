import { describe, expect, test } from "bun:test"
import type { Counter, Gauge, Histogram } from "@homeostat/runtime/telemetry/Metric"
import * as Metrics from "@homeostat/runtime/telemetry/Metrics"
import * as OpenMetrics from "./OpenMetrics.ts"

const visits: Counter<"page"> = { type: "counter", name: "visits_total", help: "Visits, by page.", labels: ["page"] }
const memory: Gauge = { type: "gauge", name: "memory_bytes", help: "Memory.", labels: [] }
const seconds: Histogram<"room"> = {
  type: "histogram",
  name: "wait_seconds",
  help: "Time waited.",
  labels: ["room"],
  buckets: [1e-5, 0.1, 1, 2e6]
}

const page = (fill: (registry: Metrics.Registry) => void): string => {
  const registry = Metrics.make()
  fill(registry)
  return OpenMetrics.render(registry.read()).body
}

describe("OpenMetrics.render", () => {
  test("sets the content type, and ends the page with EOF", () => {
    expect(OpenMetrics.render([])).toEqual({
      contentType: "application/openmetrics-text; version=1.0.0; charset=utf-8",
      body: "# EOF\n"
    })
    const { mediaType, version } = OpenMetrics.format
    expect(`${mediaType}; version=${version}; charset=utf-8`).toBe(OpenMetrics.render([]).contentType)
  })

  test("writes counters without the suffix _total, and the unit of each name", () => {
    const text = page(({ counter, gauge }) => {
      counter(visits, { page: "home" }).add(3)
      gauge(memory, {}).set(1.5)
    })
    expect(text).toBe(`# TYPE memory_bytes gauge
# UNIT memory_bytes bytes
# HELP memory_bytes Memory.
memory_bytes 1.5
# TYPE visits counter
# HELP visits Visits, by page.
visits_total{page="home"} 3
# EOF
`)
  })

  test("writes the unit of a counter without the suffix _total", () => {
    const text = page(({ counter }) => counter({ ...visits, name: "cpu_seconds_total" }, { page: "a" }))
    expect(text).toContain("# TYPE cpu_seconds counter\n# UNIT cpu_seconds seconds\n")
  })

  test("writes bucket bounds as floats, with the newest exemplar of each bucket", () => {
    const text = page(({ histogram }) => {
      const { observe } = histogram(seconds, { room: "1" })
      observe(0.05)
      observe(0.5, { traceId: "a".repeat(32), spanId: "b".repeat(16), at: 1_700_000_000_123 })
      observe(7e6, { traceId: "c".repeat(32), spanId: "d".repeat(16), at: 1_700_000_001_000 })
    })
    expect(text).toBe(`# TYPE wait_seconds histogram
# UNIT wait_seconds seconds
# HELP wait_seconds Time waited.
wait_seconds_bucket{room="1",le="1e-05"} 0
wait_seconds_bucket{room="1",le="0.1"} 1
wait_seconds_bucket{room="1",le="1.0"} 2 # {trace_id="${"a".repeat(32)}",span_id="${"b".repeat(16)}"} 0.5 1700000000.123
wait_seconds_bucket{room="1",le="2e+06"} 2
wait_seconds_bucket{room="1",le="+Inf"} 3 # {trace_id="${"c".repeat(32)}",span_id="${"d".repeat(16)}"} 7000000 1700000001.000
wait_seconds_count{room="1"} 3
wait_seconds_sum{room="1"} 7000000.55
# EOF
`)
  })

  test("escapes quotes in help and labels", () => {
    const text = page(({ counter }) =>
      counter({ ...visits, help: 'A "back\\slash"\nand a line.' }, { page: 'say "hi"\\\nthere' })
    )
    expect(text).toContain('# HELP visits A \\"back\\\\slash\\"\\nand a line.\n')
    expect(text).toContain('visits_total{page="say \\"hi\\"\\\\\\nthere"} 0\n')
  })
})
