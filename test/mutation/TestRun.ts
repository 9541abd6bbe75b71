/** Runs one test file in its own process. */
import * as Process from "@homeostat/testkit/envtest/Process"
import { Duration, Effect } from "effect"
import * as Imports from "./Imports.ts"

/** The result of a test file. `test` is the name of the first failed test, or describes an error outside of a test. */
export type Result =
  | { readonly _tag: "Passed"; readonly millis: number }
  | { readonly _tag: "Failed"; readonly test: string }
  | { readonly _tag: "TimedOut" }

/** The environment without a cluster, without settings of another test run, and without colours. */
const environmentOf = (file: string): Process.Environment => ({
  ...Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(HOMEOSTAT_|KUBE|USE_EXISTING_CLUSTER|TEST_ASSET_)/.test(name))
  ),
  HOMEOSTAT_TEST_LANE: Imports.isEmbedded(file) ? "embedded" : "unit",
  FORCE_COLOR: "0",
  NO_COLOR: "1"
})

/** Runs a test file of a copy until its first failure. After the limit, it ends the file's process and all child processes. */
export const run = (folder: string, file: string, limit: Duration.Duration): Effect.Effect<Result> =>
  Effect.gen(function* () {
    const bun = [process.execPath, "test", "--bail", "--timeout", "120000", `./${file}`]
    const [took, { exitCode, stderr }] = yield* Effect.timed(
      Process.run("sh", ["-c", 'cd "$0" && exec "$@"', folder, ...bun], { env: environmentOf(file) })
    )
    if (exitCode === 0) return { _tag: "Passed", millis: Duration.toMillis(took) } as const
    const test = /^\(fail\) (.*?)(?: \[[\d.]+ms\])?$/m.exec(stderr)?.[1] ?? "an error outside of a test"
    return { _tag: "Failed", test } as const
  }).pipe(Effect.timeoutOrElse({ duration: limit, orElse: () => Effect.succeed<Result>({ _tag: "TimedOut" }) }))
