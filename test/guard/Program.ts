/** Builds the program of a tree, and starts managers that report their CPU time and memory. */
import { mkdtempSync, readFileSync } from "node:fs"
import { join } from "node:path"
import * as Served from "../bench/scale/Served.ts"
import * as Dockerfile from "../suites/binary/Dockerfile.ts"
import type { Usage } from "./Probe.ts"

/** A compiled program. */
export interface Program {
  readonly name: "baseline" | "tree"
  /** The root of its sources. */
  readonly root: string
  /** The compiled program. */
  readonly file: string
}

/** An API server for managers. */
export type Server = Awaited<ReturnType<typeof Served.start>>

/** The environment variables that the image sets. */
const image = Object.fromEntries(
  Dockerfile.all("ENV")
    .flatMap((rest) => rest.split(/\s+/))
    .map((each) => each.split("=", 2))
)

/** Runs a command in a folder. It throws an Error with the command and its output if the command fails. */
export const run = async (command: ReadonlyArray<string>, cwd: string): Promise<void> => {
  const child = Bun.spawn([...command], { cwd, stdin: "ignore", stdout: "pipe", stderr: "pipe" })
  const output = Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  if ((await child.exited) !== 0) throw new Error(`${command.join(" ")}: ${(await output).join("").slice(-2000)}`)
}

/** Compiles the program of a tree whose dependencies are installed, as its own build does. */
export const build = async (name: Program["name"], root: string, outdir: string): Promise<Program> => {
  await run([process.execPath, "deploy/build.ts", "--outdir", outdir], root)
  return { name, root, file: join(outdir, "homeostat") }
}

/** Returns the bytes of the minified program of a tree, without Bun. */
export const bundledBytes = async (root: string): Promise<number> => {
  const { outputs } = await Bun.build({
    entrypoints: [join(root, "controllers/main.ts")],
    target: "bun",
    minify: true,
    splitting: true,
    define: { "process.env.NODE_ENV": JSON.stringify("production") }
  })
  return outputs.reduce((sum, { size }) => sum + size, 0)
}

/** Variables and flags of a manager, beside those of all managers. */
export interface Options {
  readonly env?: { readonly [name: string]: string }
  readonly flags?: ReadonlyArray<string>
}

/** The most milliseconds of one step of a manager. */
const patience = 300_000

const running = new Set<{ readonly kill: (signal: "SIGKILL") => void }>()

/** Kills all servers and managers. */
export const stopAll = (): void => {
  for (const child of running) child.kill("SIGKILL")
  running.clear()
}

/** Starts an API server in memory, the tree's own. `folder` is for temporary files. */
export const serve = async (root: string, folder: string): Promise<Server> => {
  const server = await Served.start(mkdtempSync(join(folder, "server-")), root)
  running.add(server.child)
  return server
}

/** Starts a manager of WebApps. */
export const start = ({ file, name }: Program, { kubeconfig }: Server, options: Options = {}) => {
  const [metrics, health] = [Served.freePort(), Served.freePort()]
  const log = `${kubeconfig}-${name}.log`
  const answers: Array<(usage: Usage) => void> = []
  const child = Bun.spawn(
    [
      ...[file, "run", "--kubeconfig", kubeconfig, "--controllers", "webapp", "--log-format", "json"],
      ...["--metrics-bind-address", `127.0.0.1:${metrics}`, "--health-probe-bind-address", `127.0.0.1:${health}`],
      ...(options.flags ?? [])
    ],
    {
      env: {
        ...{ ...process.env, ...image, ...options.env },
        // The program refuses a preload otherwise.
        ...{ HOMEOSTAT_ALLOW_DEBUG: "1", BUN_OPTIONS: `--preload ${join(import.meta.dir, "Probe.ts")}` }
      },
      ...{ stdin: "ignore", stdout: Bun.file(log), stderr: Bun.file(log) },
      ipc: (usage: Usage) => answers.shift()?.(usage)
    }
  )
  running.add(child)
  const page = (port: number, path: string): Promise<string> =>
    fetch(`http://127.0.0.1:${port}${path}`).then(
      (answer) => (answer.ok ? answer.text() : ""),
      () => ""
    )
  const failed = (how: string): Error =>
    new Error(`the manager of the ${name} ${how}: ${readFileSync(log, "utf8").slice(-2000)}`)
  const until = async (millis: number, isReached: () => Promise<boolean>): Promise<void> => {
    const began = performance.now()
    while (!(await isReached())) {
      if (child.exitCode !== null) throw failed("has ended")
      if (performance.now() - began > patience) throw failed(`has not done its work in ${patience / 1000} s`)
      await Bun.sleep(millis)
    }
  }
  const usage = (message: "collect" | "look" = "look"): Promise<Usage> => {
    const { promise, reject, resolve } = Promise.withResolvers<Usage>()
    answers.push(resolve)
    child.exited.then(() => reject(failed("has ended")))
    child.send(message)
    return promise
  }
  return {
    /** Returns the usage of the process so far. With `collect`, the process collects garbage after it has read the CPU time. */
    usage,
    /**
     * Waits until a condition holds, and asks at this interval in milliseconds. It throws an Error with the end of the log if the manager
     * ends, or does not get there in five minutes.
     */
    until,
    ready: () => until(5, async () => (await page(health, "/readyz")) !== ""),
    /** Waits for at least this many reconciles, and until no reconcile is left to do. */
    reconciled: (count: number) =>
      until(250, async () => {
        const text = await page(metrics, "/metrics")
        const sum = (series: string): number =>
          Array.from(text.matchAll(new RegExp(`^${series}\\{.*\\} (\\d+)`, "gm")), ([, value]) => Number(value)).reduce(
            (total, value) => total + value,
            0
          )
        const left = sum("workqueue_depth") + sum("controller_runtime_active_workers")
        return sum("controller_runtime_reconcile_total") >= count && left === 0
      }),
    stop: async (): Promise<void> => {
      running.delete(child)
      child.kill("SIGKILL")
      await child.exited
    }
  }
}
