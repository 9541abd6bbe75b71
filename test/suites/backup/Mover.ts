/**
 * The mover as in its pod, without any cluster: the program with the folders and variables that its Job sets. Each run is a pod of its
 * own, with a new cache, a new folder for temporary files and a new termination message.
 */
import {
  chmodSync,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  writeFileSync
} from "node:fs"
import { dirname, join } from "node:path"
import * as MoverReport from "@homeostat/backup/mover/MoverReport"
import type * as Assets from "@homeostat/testkit/envtest/Assets"
import * as Directory from "@homeostat/testkit/envtest/Directory"
import * as Process from "@homeostat/testkit/envtest/Process"
import { Effect, type Scope } from "effect"
import * as Restic from "./Restic.ts"

/** The mover in one file, which users other than this one can read. */
const program = Effect.runSync(
  Effect.cached(
    Effect.promise(async () => {
      const entry = join(import.meta.dirname, "../../../controllers/main.ts")
      const { outputs } = await Bun.build({
        entrypoints: [entry],
        target: "bun",
        conditions: ["homeostat-source"]
      })
      return (await outputs[0]?.text()) ?? ""
    })
  )
)

/** How a run is. */
export interface Run extends Restic.Environment {
  /** As whom, if the tests run as root. */
  readonly user?: string
  /** The only capabilities of root, separated by commas, if the tests run as root. */
  readonly capabilities?: string
  /** As the kernel has it for the pod; restic writes it into its locks. Default: this machine's. */
  readonly hostname?: string
}

/** How a run has ended. */
export interface Ended {
  readonly exitCode: number
  readonly result: MoverReport.MoverReport
  /** The termination message. */
  readonly message: string
  readonly stdout: string
  readonly stderr: string
}

/** A run that goes on. */
export interface Running {
  /** Of the mover, as the container's process 1; and the ID of its process group. */
  readonly pid: number
  readonly signal: (name: NodeJS.Signals) => Effect.Effect<void>
  /** Ends all of it at once, as the kernel does. */
  readonly kill: Effect.Effect<void>
  readonly ended: Effect.Effect<Ended>
  readonly output: () => string
}

/** Volumes, a repository and what works on them. */
export interface Mover {
  readonly folder: string
  /** A volume's folder. */
  readonly volume: (claim: string) => string
  /** For restic itself. */
  readonly env: Restic.Environment
  readonly run: (operations: string, run?: Run) => Effect.Effect<Ended>
  readonly start: (operations: string, run?: Run) => Effect.Effect<Running, never, Scope.Scope>
}

/** What nobody should ever see. */
export const password = "correct horse battery staple"

/**
 * Makes a place for runs.
 *
 * @param env variables of all runs; without RESTIC_REPOSITORY, the repository is a folder
 * @param pretended a script of `sh` to run instead of restic, for what restic rarely says
 */
export const make = (
  env: Restic.Environment = {},
  pretended?: string
): Effect.Effect<Mover, Assets.MissingAsset, Scope.Scope> =>
  Effect.gen(function* () {
    const folder = yield* Directory.make
    // For users that are not this one, whose home may be closed.
    chmodSync(folder, 0o755)
    const restic = join(folder, "bin/restic")
    mkdirSync(dirname(restic))
    if (pretended === undefined) link(yield* Restic.find, restic)
    else writeFileSync(restic, `#!/bin/sh\n${pretended}\n`, { mode: 0o755 })
    link(process.execPath, join(folder, "bin/bun"))
    writeFileSync(join(folder, "mover.js"), yield* program)
    const shared: Restic.Environment = {
      RESTIC_REPOSITORY: join(folder, "repository"),
      RESTIC_PASSWORD: password,
      ...env
    }
    let pods = 0

    const launch = (operations: string, { capabilities, hostname, user, ...own }: Run) => {
      pods += 1
      const pod = join(folder, `pod-${pods}`)
      for (const name of ["cache", "tmp"]) {
        mkdirSync(join(pod, name), { recursive: true })
        chmodSync(join(pod, name), 0o777)
      }
      mkdirSync(join(folder, "data"), { recursive: true })
      const result = join(pod, "result")
      Bun.spawnSync(["touch", result])
      chmodSync(result, 0o666)
      const isRoot = process.getuid?.() === 0
      const dropped = isRoot && user !== undefined ? ["setpriv", "--reuid", user, "--clear-groups"] : []
      const bounds = `-all,${(capabilities ?? "").toLowerCase().replace(/\w+/g, "+$&")}`
      const bounded = isRoot && capabilities !== undefined ? ["setpriv", `--bounding-set=${bounds}`] : []
      const [program = "", ...args] = [
        ...(hostname === undefined
          ? []
          : ["unshare", "--uts", "--map-root-user", "sh", "-c", 'hostname "$0" && exec "$@"', hostname]),
        ...dropped,
        ...bounded,
        join(folder, "bin/bun"),
        join(folder, "mover.js"),
        "mover",
        ...operations.split(" ")
      ]
      const env = {
        PATH: `${join(folder, "bin")}:${process.env.PATH ?? ""}`,
        TZ: "UTC",
        DATA_DIR: join(folder, "data"),
        RESTIC_CACHE_DIR: join(pod, "cache"),
        TMPDIR: join(pod, "tmp"),
        RESULT: result,
        BACKUP_HOST: "shop",
        BACKUP_TAG: "shop/nightly",
        PREFLIGHT_TIMEOUT: "20",
        RETRY_LOCK: "1s",
        ...shared,
        ...own
      }
      const ended = (exitCode: number, stdout: string, stderr: string): Ended => {
        const message = readFileSync(result, "utf8")
        return { exitCode, result: MoverReport.parse(message), message, stdout, stderr }
      }
      return { program, args, env, pod, ended }
    }

    return {
      folder,
      volume: (claim) => {
        const path = join(folder, "data", claim)
        mkdirSync(path, { recursive: true })
        return path
      },
      env: { RESTIC_CACHE_DIR: join(folder, "cache"), ...shared },
      run: (operations, run = {}) =>
        Effect.suspend(() => {
          const { args, ended, env, program } = launch(operations, run)
          return Effect.map(Process.run(program, args, { env }), ({ exitCode, stderr, stdout }) =>
            ended(exitCode, stdout, stderr)
          )
        }),
      start: (operations, run = {}) =>
        Effect.acquireRelease(
          Effect.sync(() => {
            const { args, ended, env, pod, program } = launch(operations, run)
            const log = join(pod, "log")
            const spawned = Process.spawn(program, args, { env, workingDirectory: folder, log })
            const output = () => (existsSync(log) ? readFileSync(log, "utf8") : "")
            return {
              release: spawned.release,
              pid: spawned.pid,
              signal: (name: NodeJS.Signals) => Effect.sync(() => process.kill(spawned.pid, name)),
              kill: Effect.promise(() => {
                process.kill(-spawned.pid, "SIGKILL")
                return spawned.exited
              }),
              ended: Effect.promise(async () => ended(await spawned.exited, output(), "")),
              output
            }
          }),
          ({ release }) => Effect.sync(release)
        )
    }
  })

/** The same file in another folder, or a copy of it where a file system ends between them. */
const link = (from: string, to: string): void => {
  try {
    linkSync(realpathSync(from), to)
  } catch {
    copyFileSync(from, to)
  }
}
