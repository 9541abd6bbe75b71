/** Runs restic itself, so that tests can inspect the repositories of the movers. */
import { constants } from "node:fs"
import { access } from "node:fs/promises"
import { delimiter, join } from "node:path"
import * as Assets from "@homeostat/testkit/envtest/Assets"
import * as Process from "@homeostat/testkit/envtest/Process"
import { Effect } from "effect"

/** Environment variables of restic. Restic gets only PATH from this process's variables. */
export type Environment = { readonly [name: string]: string | undefined }

/** The path of restic: RESTIC_BIN, a program of the real lane, or a program on the PATH. Fails if RESTIC_BIN is wrong. */
export const find: Effect.Effect<string, Assets.MissingAsset> = Effect.gen(function* () {
  const named = process.env.RESTIC_BIN ?? ""
  if (named !== "") {
    if (yield* isExecutable(named)) return named
    return yield* new Assets.MissingAsset({ program: "restic", variable: "RESTIC_BIN", path: named })
  }
  return yield* Effect.catch(Assets.find("restic"), () => onPath)
})

const onPath = Effect.gen(function* () {
  for (const folder of (process.env.PATH ?? "").split(delimiter)) {
    const path = join(folder, "restic")
    if (folder !== "" && (yield* isExecutable(path))) return path
  }
  return yield* new Assets.MissingAsset({ program: "restic", variable: "RESTIC_BIN", path: undefined })
})

const isExecutable = (path: string): Effect.Effect<boolean> =>
  Effect.promise(() =>
    access(path, constants.X_OK).then(
      () => true,
      () => false
    )
  )

/** Runs restic. Every exit code is a result, not an error. */
export const run = (
  env: Environment,
  ...args: ReadonlyArray<string>
): Effect.Effect<Process.Result, Assets.MissingAsset> =>
  Effect.flatMap(find, (restic) => Process.run(restic, args, { env: { PATH: process.env.PATH, TZ: "UTC", ...env } }))

/** Runs restic and returns its standard output. Any exit code but 0 is a defect of the test. */
export const output = (env: Environment, ...args: ReadonlyArray<string>): Effect.Effect<string, Assets.MissingAsset> =>
  Effect.flatMap(run(env, ...args), ({ exitCode, stderr, stdout }) =>
    exitCode === 0
      ? Effect.succeed(stdout)
      : Effect.die(new Error(`restic ${args.join(" ")} ended with ${exitCode}: ${stderr}`))
  )

/** A snapshot, as `restic snapshots --json` prints it. */
export interface Snapshot {
  readonly id: string
  readonly time: string
  readonly hostname: string
  readonly tags?: ReadonlyArray<string>
  readonly paths: ReadonlyArray<string>
  readonly parent?: string
}

/** The snapshots of a repository, oldest first. */
export const snapshots = (env: Environment): Effect.Effect<ReadonlyArray<Snapshot>, Assets.MissingAsset> =>
  Effect.map(
    output(env, "snapshots", "--json"),
    // restic writes this format.
    (text) => (JSON.parse(text) as ReadonlyArray<Snapshot> | null) ?? []
  )

/** The ids of a repository's locks. */
export const locks = (env: Environment): Effect.Effect<ReadonlyArray<string>, Assets.MissingAsset> =>
  Effect.map(output(env, "list", "locks", "--no-lock", "--quiet"), (text) =>
    text.split("\n").filter((line) => line !== "")
  )

/** Runs restic in a folder. Any exit code but 0 is a defect of the test. */
export const inside = (
  folder: string,
  env: Environment,
  ...args: ReadonlyArray<string>
): Effect.Effect<Process.Result, Assets.MissingAsset> =>
  Effect.gen(function* () {
    const restic = yield* find
    const command = ["-c", 'cd "$0" && exec "$@"', folder, restic, ...args]
    const ended = yield* Process.run("sh", command, { env: { PATH: process.env.PATH, TZ: "UTC", ...env } })
    if (ended.exitCode !== 0) return yield* Effect.die(new Error(`restic ${args.join(" ")} failed: ${ended.stderr}`))
    return ended
  })
