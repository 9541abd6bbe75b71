/**
 * The compiled program, as `bun run build` makes it, so that a test needs no earlier build and checks the shipped program. The processes
 * of a test run share it in the folder `HOMEOSTAT_TEST_FOLDER`. A process without that variable builds a separate program.
 */
import { existsSync } from "node:fs"
import { mkdtemp, rename, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Flag from "@homeostat/runtime/command/Flag"
import * as AtEnd from "@homeostat/testkit/envtest/AtEnd"
import { Data, Effect, type Scope } from "effect"
import * as Running from "./Running.ts"

const root = join(import.meta.dir, "../../..")

/** The build made no executable. The message is the build's output. */
export class BuildFailed extends Data.TaggedError("BuildFailed")<{ readonly message: string }> {}

let built: Promise<string> | undefined

const testRun = process.env.HOMEOSTAT_TEST_FOLDER

const build = async (): Promise<string> => {
  const shared = join(testRun ?? "", "binary")
  if (testRun !== undefined && existsSync(shared)) return join(shared, "homeostat")
  const folder = await mkdtemp(join(testRun ?? tmpdir(), "homeostat-binary-"))
  if (testRun === undefined) {
    AtEnd.add(() => {
      built = undefined
      return rm(folder, { recursive: true, force: true })
    })
  }
  const child = Bun.spawn([process.execPath, join(root, "deploy/build.ts"), "--outdir", folder], {
    stdio: ["ignore", "pipe", "pipe"]
  })
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited
  ])
  if (code !== 0) throw new BuildFailed({ message: `the build ended with ${code}: ${out}${err}` })
  // Two processes may build at the same time. The first one to end shares its folder with the others.
  const isShared =
    testRun !== undefined &&
    (await rename(folder, shared).then(
      () => true,
      () => false
    ))
  return join(isShared ? shared : folder, "homeostat")
}

/** The path of the executable. The first test that uses it waits some seconds for the build. */
export const path: Effect.Effect<string> = Effect.promise(() => {
  built ??= build()
  return built
})

/** Environment variables for flags of the program, and of the programs of other tests. */
export const variables = (
  values: { readonly [flag: string]: string },
  programs: ReadonlyArray<string> = ["homeostat", "impossible", "keeper", "slow"]
): { readonly [variable: string]: string } =>
  Object.fromEntries(
    programs.flatMap((program) =>
      Object.entries(values).map(([flag, value]) => [Flag.variableOf(program, flag), value] as const)
    )
  )

/** An environment without configuration: no kubeconfig, no pod, and no ports, which parallel tests cannot share. */
export const bare = (home: string): Running.Environment => ({
  PATH: process.env.PATH,
  HOME: home,
  TMPDIR: process.env.TMPDIR,
  ...variables({ "metrics-bind-address": "0", "health-probe-bind-address": "0" })
})

/** The same environment with a text log: each error is one line of text. */
export const plain = (home: string): Running.Environment => ({
  ...bare(home),
  ...variables({ "log-format": "pretty" })
})

/** The same as {@link bare} with free ports: see `Endpoint`. */
export const probed = (home: string): Running.Environment => ({
  ...bare(home),
  ...variables({ "metrics-bind-address": "127.0.0.1:0", "health-probe-bind-address": "127.0.0.1:0" })
})

/** Starts the program for the lifetime of the Scope. */
export const start = (
  args: ReadonlyArray<string>,
  environment: Running.Environment
): Effect.Effect<Running.Running, never, Scope.Scope> =>
  Effect.flatMap(path, (executable) => Running.start([executable, ...args], environment))

/** Runs the program until it ends. Fails if the program runs longer than 40 seconds. */
export const run = (
  args: ReadonlyArray<string>,
  environment: Running.Environment
): Effect.Effect<Running.End, Running.StillRunning, Scope.Scope> =>
  Effect.flatMap(start(args, environment), (running) => running.ended("40 seconds"))
