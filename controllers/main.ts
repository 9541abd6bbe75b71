/** The manager: its controllers, what they need, how it logs. Everything else is the runtime's. */
import { backup, admission as backupAdmission, mover, restore, Settings } from "@homeostat/backup"
import { Logs, MetricsText, OpenMetrics, Traces } from "@homeostat/observability"
import * as Build from "@homeostat/runtime/command/Build"
import * as Program from "@homeostat/runtime/command/Program"
import { controller as webapp } from "@homeostat/webapp"
import { admission as webappAdmission } from "@homeostat/webapp/admission"
import manifest from "../package.json" with { type: "json" }

/** Put in by `deploy/build.ts`; not there when this is run from its sources. */
declare const HOMEOSTAT_BUILD: Build.Build | undefined

const build = typeof HOMEOSTAT_BUILD === "undefined" ? undefined : HOMEOSTAT_BUILD

/** The program. */
export const program = {
  name: "homeostat",
  version: Build.versionOf(manifest.version, build?.commit),
  description: manifest.description,
  build,
  controllers: [webapp, backup, restore],
  webhooks: [...webappAdmission, ...backupAdmission],
  layer: Settings.layer,
  // Loaded by `plan` alone.
  simulation: () => import("@homeostat/testkit/Simulation"),
  settings: Settings.variables,
  logger: Logs.layer,
  metrics: [MetricsText.format, OpenMetrics.format] as const,
  tracing: Traces.make,
  verbs: [mover]
}

// A program that imports this module, as the demo does, runs it by itself.
if (import.meta.main) Program.main(program)
