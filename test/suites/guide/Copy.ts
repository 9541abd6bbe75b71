/**
 * A copy of the working tree with installed dependencies, as after `git clone` and `bun install`. Tests that write into the tree and run
 * the project's own commands use it.
 */
import { mkdir, symlink } from "node:fs/promises"
import { join } from "node:path"
import * as Directory from "@homeostat/testkit/envtest/Directory"
import { Effect, type Scope } from "effect"
import * as Running from "../binary/Running.ts"
import * as Tree from "./Tree.ts"

const root = join(import.meta.dir, "../../..")

/** A copy of the tree. The end of the Scope deletes it. */
export interface Copy {
  /** The root of the copy. */
  readonly folder: string
  /** The environment of its commands. It has no settings of the test run and no cluster. */
  readonly environment: Running.Environment
  /** Runs a command in the root, and waits at most five minutes for its end. */
  readonly run: (
    command: ReadonlyArray<string>,
    environment?: Running.Environment
  ) => Effect.Effect<Running.End, Running.StillRunning, Scope.Scope>
  /** One line per file that git does not ignore, with its mode and hash. Two equal states have equal files. */
  readonly state: Effect.Effect<string>
}

const kept = (name: string): boolean => !/^(HOMEOSTAT_|KUBE|USE_EXISTING_CLUSTER|TEST_ASSET_|NODE_ENV|OTEL_)/.test(name)

/** Copies the tree, and installs its dependencies. */
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
    return yield* Effect.die(new Error(`bun install ended with ${installed.code}: ${installed.stderr}`))
  return { folder, environment, run, state: Effect.promise(() => Tree.state(folder)) }
})
