/** What leaves a manager to be read elsewhere. */
export * as AttemptTrace from "./AttemptTrace.ts"
export * as Logs from "./Logs.ts"
export * as MetricsText from "./MetricsText.ts"
export * as OpenMetrics from "./OpenMetrics.ts"
export * as Traces from "./Traces.ts"
