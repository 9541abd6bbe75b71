/** The metrics of webhooks. */
import { counter, gauge } from "./Metric.ts"

/** When the served certificate begins to be valid, in seconds since 1970. */
export const certificateStart = gauge(
  "homeostat_webhook_certificate_start_timestamp_seconds",
  "When the certificate that this replica serves to webhooks' callers begins to be valid, in seconds since 1970"
)

/** When the served certificate expires, in seconds since 1970. */
export const certificateExpiration = gauge(
  "homeostat_webhook_certificate_expiration_timestamp_seconds",
  "When the certificate that this replica serves to webhooks' callers expires, in seconds since 1970"
)

/** Certificates that this replica has issued and written into the Secret of all replicas. */
export const certificateRenewals = counter(
  "homeostat_webhook_certificate_renewals_total",
  "Certificates of webhooks that this replica has issued for all replicas"
)
