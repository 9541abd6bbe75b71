/** The metrics of a webhook's path. */
import type * as Metrics from "../telemetry/Metrics.ts"
import * as WebhookMetric from "../telemetry/WebhookMetric.ts"

/** The series of a path: requests by code, requests in flight, the latency and panics. */
export const of = (registry: Metrics.Registry, webhook: string, type: "admission" | "conversion") => {
  const code = (code: string) => registry.counter(WebhookMetric.requests, { webhook, code })
  const codes = new Map(["200", "500"].map((each) => [each, code(each)]))
  const inFlight = registry.gauge(WebhookMetric.inFlight, { webhook })
  const latency = registry.histogram(WebhookMetric.latency, { webhook })
  const panics = registry.counter(type === "admission" ? WebhookMetric.panics : WebhookMetric.conversionPanics, {})
  return {
    inFlight,
    latency,
    panics,
    count: (status: number) => {
      const key = String(status)
      const found = codes.get(key) ?? code(key)
      codes.set(key, found)
      found.add()
    }
  }
}
