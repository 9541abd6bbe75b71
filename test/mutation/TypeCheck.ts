/** Runs the type check of a project, as `bun run check` does. */
import { stat } from "node:fs/promises"
import { join } from "node:path"
import * as Process from "@homeostat/testkit/envtest/Process"
import { Effect } from "effect"

/** The configuration file of the compiler. */
export const settings = "tsconfig.json"

/** The file with the compiler's incremental state. The next check then takes a third of the time. */
const state = join("node_modules", ".mutation.tsbuildinfo")

/** Returns the first error of the compiler, or undefined without an error. A project without a `tsconfig.json` has no errors. */
export const run = (folder: string): Effect.Effect<string | undefined> =>
  Effect.gen(function* () {
    const known = yield* Effect.promise(() => stat(join(folder, settings)).then(...[() => true, () => false]))
    if (!known) return undefined
    const flags = ["--noEmit", "--incremental", "--tsBuildInfoFile", state, "--checkers", "1", "--pretty", "false"]
    const compiler = [process.execPath, "x", "tsc", "-p", settings, ...flags]
    const { exitCode, stdout } = yield* Process.run("sh", ["-c", 'cd "$0" && exec "$@"', folder, ...compiler])
    return exitCode === 0 ? undefined : (stdout.split("\n").find((line) => line.includes("error TS")) ?? stdout.trim())
  })
