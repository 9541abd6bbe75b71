/**
 * A copy of the working tree, installed, as somebody has it who has just cloned: for what writes into the tree and runs the
 * project's own commands there.
 */
import { mkdir, symlink } from "node:fs/promises"
import { join } from "node:path"
import * as Directory from "@homeostat/testkit/envtest/Directory"
import { Effect, type Scope } from "effect"
import * as Running from "../binary/Running.ts"
import * as Tree from "./Tree.ts"

const root = join(import.meta.dir, "../../..")

/** The copy, until the end of the Scope that it was made in. */
export interface Copy {
  /** The root of it. */
  readonly folder: string
  /** What its commands are run with: nothing of the test run's own settings, and no cluster. */
  readonly environment: Running.Environment
  /** Runs a command in its root, to its end. */
  readonly run: (
    command: ReadonlyArray<string>,
    environment?: Running.Environment
  ) => Effect.Effect<Running.End, Running.StillRunning, Scope.Scope>
  /** All its files with their content, without those that git ignores: two states differ where a file does. */
  readonly state: Effect.Effect<string>
}

const kept = (name: string): boolean => !/^(HOMEOSTAT_|KUBE|USE_EXISTING_CLUSTER|TEST_ASSET_|NODE_ENV|OTEL_)/.test(name)

/** Makes one. */
export const make: Effect.Effect<Copy, Running.StillRunning, Scope.Scope> = Effect.gen(function* () {
  const home = yield* Directory.make
  const [folder, bin] = [join(home, "homeostat"), join(home, "bin")]
  yield* Effect.promise(async () => {
    await mkdir(folder)
    await mkdir(bin)
    await symlink(process.execPath, join(bin, "bun"))
  })
  const environment = {
    ...Object.fromEntries(Object.entries(process.env).filter(([name]) => kept(name))),
    PATH: `${bin}:${process.env.PATH ?? ""}`,
    NO_COLOR: "1",
    FORCE_COLOR: undefined
  }
  const run: Copy["run"] = (command, more = {}) =>
    Effect.flatMap(
      Running.start(["sh", "-c", 'cd "$0" && exec "$@"', folder, ...command], { ...environment, ...more }),
      (running) => running.ended("5 minutes")
    )
  yield* Effect.promise(() => Tree.copy(root, folder))
  const installed = yield* run(["bun", "install", "--frozen-lockfile"])
  if (installed.code !== 0)
    return yield* Effect.dieMessage(`bun install ended with ${installed.code}: ${installed.stderr}`)
  return { folder, environment, run, state: Effect.promise(() => Tree.state(folder)) }
})
