/** Logs, metrics and traces of a manager, for other programs. */
export * as AttemptTrace from "./AttemptTrace.ts"
export * as Logs from "./Logs.ts"
export * as MetricsText from "./MetricsText.ts"
export * as OpenMetrics from "./OpenMetrics.ts"
export * as Traces from "./Traces.ts"
