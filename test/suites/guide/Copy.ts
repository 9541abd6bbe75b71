/**
 * A copy of the working tree, installed, as somebody has it who has just cloned: for what writes into the tree and runs the
 * project's own commands there.
 */
import { mkdir, symlink } from "node:fs/promises"
import { join } from "node:path"
import * as Directory from "@homeostat/testkit/envtest/Directory"
import { Effect, type Scope } from "effect"
import * as Running from "../binary/Running.ts"

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
  /** Tells one state of all its files from every other, those that git ignores not counted. */
  readonly state: Effect.Effect<string, Running.StillRunning, Scope.Scope>
}

/** The files of the tree: those that are committed, and those that will be. */
const copied = `git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d "" file; do
  if [ -e "$file" ]; then printf "%s\\0" "$file"; fi
done | tar -cf - --null -T - | tar -xf - -C "$0"`

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
  const done = (command: ReadonlyArray<string>) =>
    Effect.flatMap(run(command), ({ code, stderr, stdout }) =>
      code === 0 ? Effect.succeed(stdout) : Effect.dieMessage(`${command.join(" ")} ended with ${code}: ${stderr}`)
    )
  yield* done(["sh", "-c", `cd "$0" && exec bash -o pipefail -c '${copied}' "$1"`, root, folder])
  yield* done(["git", "init", "--quiet"])
  yield* done(["bun", "install", "--frozen-lockfile"])
  const state = Effect.zipRight(done(["git", "add", "--all"]), done(["git", "write-tree"]))
  return { folder, environment, run, state }
})
