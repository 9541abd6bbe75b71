/** Logs, metrics and traces of a manager, for other programs. */
// With an older major version of Effect, Bun does not find this module, and prints its name as the error.
import "#Homeostat needs effect 4.1 or a newer 4.x (bun add effect@4)"

export * as AttemptTrace from "./AttemptTrace.ts"
export * as Logs from "./Logs.ts"
export * as MetricsText from "./MetricsText.ts"
export * as OpenMetrics from "./OpenMetrics.ts"
export * as Traces from "./Traces.ts"
