/** Clients in other languages, unmodified, and the packed kubemem under Node 22 that they use. */
import { homedir } from "node:os"
import { join } from "node:path"
import { Effect } from "effect"
import * as Node from "../binary/Node.ts"

const root = join(import.meta.dir, "../../..")

/** The folder of the clients. */
export const sources = join(root, "test/cluster/peers")

/** The folder of their builds, which later runs reuse. */
export const builds = join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "homeostat/peers")

/** The longest time for a build and its test, in milliseconds. */
export const limitMillis = 15 * 60_000

/** Runs a command and returns its output. A failure shows what the command printed. */
export const run = (
  command: ReadonlyArray<string>,
  options: { readonly cwd: string; readonly env?: { readonly [name: string]: string } }
): Effect.Effect<string> =>
  Effect.promise(async () => {
    const child = Bun.spawn([...command], {
      cwd: options.cwd,
      env: { ...process.env, ...options.env },
      stdout: "pipe",
      stderr: "pipe"
    })
    const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
    if ((await child.exited) !== 0) throw new Error(`${command.join(" ")} failed:\n${stdout}${stderr}`)
    return stdout
  })

/** The command that runs the packed program, which is built into `folder`. */
export const kubemem = (folder: string): Effect.Effect<ReadonlyArray<string>> =>
  Effect.gen(function* () {
    const program = join(folder, "kubemem.mjs")
    yield* run([process.execPath, "run", "prepack", `--outfile=${program}`], { cwd: join(root, "test/kubemem") })
    return [yield* Node.path, program]
  })

/** Starts a cluster in the background until the scope closes. Returns the variables that lead clients to it. */
export const cluster = (folder: string, flags: ReadonlyArray<string> = []) =>
  Effect.gen(function* () {
    const command = yield* kubemem(folder)
    const env = { KUBECONFIG: join(folder, "kubeconfig") }
    yield* Effect.acquireRelease(run([...command, "start", "--detach", ...flags], { cwd: folder, env }), () =>
      run([...command, "stop"], { cwd: folder, env })
    )
    return env
  })
