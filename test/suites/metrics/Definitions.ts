/** The metrics of the runtime and of controllers. */
import * as Backup from "@homeostat/backup/run/Metrics"
import * as Runtime from "@homeostat/runtime/telemetry/Metric"
import * as Request from "@homeostat/runtime/telemetry/RequestMetric"
import * as Webhook from "@homeostat/runtime/telemetry/WebhookMetric"

/** A module that defines metrics. */
export interface Module {
  /** The path from the root of the repository. */
  readonly file: string
  readonly exports: { readonly [name: string]: unknown }
}

/** The metrics modules of the runtime. */
export const runtime: ReadonlyArray<Module> = [
  { file: "runtime/src/telemetry/Metric.ts", exports: Runtime },
  { file: "runtime/src/telemetry/RequestMetric.ts", exports: Request },
  { file: "runtime/src/telemetry/WebhookMetric.ts", exports: Webhook }
]

/** The metrics modules of the controllers. */
export const controllers: ReadonlyArray<Module> = [{ file: "controllers/backup/run/Metrics.ts", exports: Backup }]

export const modules: ReadonlyArray<Module> = [...runtime, ...controllers]

const isMetric = (value: unknown): value is Runtime.Metric =>
  typeof value === "object" && value !== null && "type" in value && "help" in value

/** The metrics of a module by the names of their exports. */
export const metricsOf = ({ exports }: Module): ReadonlyArray<readonly [string, Runtime.Metric]> =>
  Object.entries(exports).flatMap(([name, value]) => (isMetric(value) ? [[name, value] as const] : []))

export const all: ReadonlyArray<Runtime.Metric> = modules.flatMap((module) =>
  metricsOf(module).map(([, metric]) => metric)
)
