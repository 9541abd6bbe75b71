/**
 * A program made of controllers, and its verbs. `run` logs a failure instead of printing it if its log lines are JSON.
 */
import * as Crd from "./Crd.ts"
import * as Dispatch from "./Dispatch.ts"
import * as Manifests from "./Manifests.ts"
import * as Plan from "./Plan.ts"
import * as Preflight from "./Preflight.ts"
import * as Rbac from "./Rbac.ts"
import * as Replay from "./Replay.ts"
import * as Run from "./Run.ts"
import * as Version from "./Version.ts"
import * as Why from "./Why.ts"
import * as Writes from "./Writes.ts"

/**
 * Runs the program on the process's command line. Call it once, in the file that you compile.
 *
 * @example
 * ```ts
 * import { Logs, MetricsText, Traces } from "@homeostat/observability"
 * import { BuiltIn, Controller, Program, Result } from "@homeostat/runtime"
 * import { Effect, Layer } from "effect"
 *
 * const controller = Controller.make("deployment-logger", {
 *   for: BuiltIn.Deployment,
 *   reconcile: ({ metadata }) => Effect.as(Effect.logInfo(metadata.name), Result.done)
 * })
 *
 * Program.main({
 *   name: "logger",
 *   version: "1.0.0",
 *   description: "Logs Deployments",
 *   controllers: [controller],
 *   layer: Layer.empty,
 *   logger: Logs.layer,
 *   metrics: [MetricsText.format],
 *   tracing: Traces.make
 * })
 * ```
 */
export const main = <R, E>(program: Run.Program<R, E>): void =>
  Dispatch.run(program, [
    Run.verb(program),
    Crd.verb(program),
    Rbac.verb(program),
    Manifests.verb(program),
    Preflight.verb(program),
    ...(program.simulation === undefined ? [] : [Plan.verb({ ...program, simulation: program.simulation })]),
    Why.verb(program),
    Writes.verb(program),
    Replay.verb(program),
    Version.verb(program),
    ...(program.verbs ?? [])
  ])
