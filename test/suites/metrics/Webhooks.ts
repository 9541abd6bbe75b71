/**
 * The metrics of webhooks. The program of {@link Live} serves no webhooks, because their configurations would affect all tests.
 */
import { MetricsText } from "@homeostat/observability"
import * as Metrics from "@homeostat/runtime/telemetry/Metrics"
import * as WebhookMetric from "@homeostat/runtime/telemetry/WebhookMetric"

/** The metrics pages before and after a renewal of the certificate and a rejected connection. */
export const pages = (): readonly [before: string, after: string] => {
  const registry = Metrics.make()
  const start = registry.gauge(WebhookMetric.certificateStart, {})
  const expiration = registry.gauge(WebhookMetric.certificateExpiration, {})
  const renewals = registry.counter(WebhookMetric.certificateRenewals, {})
  const rejected = registry.counter(WebhookMetric.rejectedConnections, {})
  const page = () => MetricsText.render(registry.read()).body
  start.set(1_790_000_000)
  expiration.set(1_797_776_000)
  const before = page()
  start.set(1_795_000_000)
  expiration.set(1_802_776_000)
  renewals.add()
  rejected.add()
  return [before, page()]
}
