/** The metrics of webhooks. */
import { counter, decades, gauge, histogram } from "./Metric.ts"

/** The time from the body of a request to its answer. */
export const latency = histogram(
  "controller_runtime_webhook_latency_seconds",
  "Histogram of the latency of processing admission requests",
  decades,
  ["webhook"]
)

/** Answers by HTTP status, or by the code of a denial. */
export const requests = counter(
  "controller_runtime_webhook_requests_total",
  "Total number of admission requests by HTTP status code.",
  ["webhook", "code"]
)

/** Requests that have no answer yet. */
export const inFlight = gauge(
  "controller_runtime_webhook_requests_in_flight",
  "Current number of admission requests being served.",
  ["webhook"]
)

/** Connections and requests of clients that are not API servers, or have not completed the TLS handshake. */
export const rejectedConnections = counter(
  "homeostat_webhook_rejected_connections_total",
  "Connections to the port of the webhooks whose TLS handshake failed, and connections and admission requests of clients without a valid certificate (--webhook-client-ca)"
)

/** Defects of admission webhooks. */
export const panics = counter("controller_runtime_webhook_panics_total", "Total number of webhook panics")

/** Defects of conversions. */
export const conversionPanics = counter(
  "controller_runtime_conversion_webhook_panics_total",
  "Total number of conversion webhook panics"
)

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
