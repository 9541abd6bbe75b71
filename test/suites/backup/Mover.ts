/**
 * Runs the mover's program without a cluster, with the folders and variables that its Job sets. As in a pod, each run has a new cache,
 * a new folder for temporary files and a new termination message.
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

/** The mover's program in one file, which other users can read. */
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

/** The options of a run. */
export interface Run extends Restic.Environment {
  /** The user of the process, if root runs the tests. */
  readonly user?: string
  /** The only capabilities of the root user, separated by commas, if root runs the tests. */
  readonly capabilities?: string
  /** Mounts an empty file system at RESTORE_TARGET, with these options of tmpfs. Only the processes of this run see its files. */
  readonly tmpfs?: string
  /** The pod's host name, which restic writes into its locks. Default: the host name of this machine. */
  readonly hostname?: string
}

/** The result of a run. */
export interface Ended {
  readonly exitCode: number
  readonly result: MoverReport.MoverReport
  /** The termination message of the run. */
  readonly message: string
  readonly stdout: string
  readonly stderr: string
}

/** A run that has not ended. */
export interface Running {
  /** The id of the mover's process, the container's process 1. This id is also the id of its process group. */
  readonly pid: number
  readonly signal: (name: NodeJS.Signals) => Effect.Effect<void>
  /** Kills all processes of the run at once, as the kernel does. */
  readonly kill: Effect.Effect<void>
  readonly ended: Effect.Effect<Ended>
  readonly output: () => string
}

/** Volumes, a repository, and the functions that run the mover on them. */
export interface Mover {
  readonly folder: string
  /** The folder of a claim's volume. */
  readonly volume: (claim: string) => string
  /** Environment variables to run restic itself. */
  readonly env: Restic.Environment
  readonly run: (operations: string, run?: Run) => Effect.Effect<Ended>
  readonly start: (operations: string, run?: Run) => Effect.Effect<Running, never, Scope.Scope>
}

/** The repository's password, which must not appear in any output. */
export const password = "correct horse battery staple"

/**
 * Makes the folders for runs of the mover.
 *
 * @param env variables of all runs; without RESTIC_REPOSITORY, the repository is a folder
 * @param pretended a script of `sh` that replaces restic, for output that restic rarely prints
 */
export const make = (
  env: Restic.Environment = {},
  pretended?: string
): Effect.Effect<Mover, Assets.MissingAsset, Scope.Scope> =>
  Effect.gen(function* () {
    const folder = yield* Directory.make
    // Other users need access, and this user's home folder may be closed to them.
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

    const launch = (operations: string, { capabilities, hostname, tmpfs, user, ...own }: Run) => {
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
        ...(tmpfs === undefined
          ? []
          : [
              ...["unshare", "--mount", "--map-root-user"],
              ...["sh", "-c", 'mount -t tmpfs -o "$0" tmpfs "$RESTORE_TARGET" && exec "$@"', tmpfs]
            ]),
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

/** Links a file into another folder, or copies it if the folders are on different file systems. */
const link = (from: string, to: string): void => {
  try {
    linkSync(realpathSync(from), to)
  } catch {
    copyFileSync(from, to)
  }
}
