/** The metrics that a manager of ours can show: the runtime's, and those that controllers have of their own. */
import * as Backup from "@homeostat/backup/Metrics"
import * as Runtime from "@homeostat/runtime/telemetry/Metric"

/** A module that defines metrics. */
export interface Module {
  /** From the root of the repository. */
  readonly file: string
  /** All that it exports. */
  readonly exports: { readonly [name: string]: unknown }
}

/** The runtime's. */
export const runtime: Module = { file: "runtime/src/telemetry/Metric.ts", exports: Runtime }

/** Those of controllers: each `controllers/<name>/Metrics.ts`. */
export const controllers: ReadonlyArray<Module> = [{ file: "controllers/backup/Metrics.ts", exports: Backup }]

/** All of them. */
export const modules: ReadonlyArray<Module> = [runtime, ...controllers]

/** What is neither a function, nor a list, nor a name is a definition. */
const isMetric = (value: unknown): value is Runtime.Metric =>
  typeof value === "object" && value !== null && "type" in value && "help" in value

/** The metrics of a module by the names that they have there. */
export const metricsOf = ({ exports }: Module): ReadonlyArray<readonly [string, Runtime.Metric]> =>
  Object.entries(exports).flatMap(([name, value]) => (isMetric(value) ? [[name, value] as const] : []))

/** All metrics. */
export const all: ReadonlyArray<Runtime.Metric> = modules.flatMap((module) =>
  metricsOf(module).map(([, metric]) => metric)
)
