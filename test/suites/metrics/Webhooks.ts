/** The metrics of webhooks, which the program of {@link Live} does not serve: their configurations would apply to all tests. */
import { MetricsText } from "@homeostat/observability"
import * as Metrics from "@homeostat/runtime/telemetry/Metrics"
import * as WebhookMetric from "@homeostat/runtime/telemetry/WebhookMetric"

/** The metrics before and after a renewal. */
export const pages = (): readonly [before: string, after: string] => {
  const registry = Metrics.make()
  const start = registry.gauge(WebhookMetric.certificateStart, {})
  const expiration = registry.gauge(WebhookMetric.certificateExpiration, {})
  const renewals = registry.counter(WebhookMetric.certificateRenewals, {})
  const page = () => MetricsText.render(registry.read()).body
  start.set(1_790_000_000)
  expiration.set(1_797_776_000)
  const before = page()
  start.set(1_795_000_000)
  expiration.set(1_802_776_000)
  renewals.add()
  return [before, page()]
}
