/** A release as a maintainer builds it: a clean clone of the sources, at a commit, in which everything is built. Once per test run. */
import { mkdir, mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import * as AtEnd from "@homeostat/testkit/envtest/AtEnd"
import * as Process from "@homeostat/testkit/envtest/Process"
import { Data, Effect } from "effect"

const root = join(import.meta.dir, "../../..")

/** A step of a release failed. The message is the step's output. */
export class ReleaseFailed extends Data.TaggedError("ReleaseFailed")<{ readonly message: string }> {}

/** Runs a program and returns its output. Fails if the program fails. */
export const run = (
  command: readonly [executable: string, ...args: ReadonlyArray<string>],
  env: Process.Environment = process.env
): Effect.Effect<string, ReleaseFailed> => {
  const [executable, ...args] = command
  return Effect.flatMap(Process.run(executable, args, { env }), ({ exitCode, stderr, stdout }) =>
    exitCode === 0
      ? Effect.succeed(stdout.trim())
      : new ReleaseFailed({ message: `${command.join(" ")} ended with ${exitCode}: ${stdout}${stderr}` })
  )
}

/** Git options of an author that ignore this machine's settings: no signing key, no hooks. */
const author = [
  ...["-c", "user.name=Somebody", "-c", "user.email=somebody@example.com"],
  ...["-c", "commit.gpgsign=false", "-c", "core.hooksPath=/dev/null"]
] as const

/** Creates a repository with one commit of the current sources. */
export const commit = (folder: string) =>
  Effect.gen(function* () {
    const listed = yield* run([
      "git",
      "-c",
      "safe.directory=*",
      "-C",
      root,
      "ls-files",
      "-z",
      "--cached",
      "--others",
      "--exclude-standard"
    ])
    yield* Effect.promise(async () => {
      for (const file of listed.split("\0")) {
        if (file === "") continue
        const source = Bun.file(join(root, file))
        // Git also lists a deleted file while its deletion is not committed.
        if (!(await source.exists())) continue
        await mkdir(dirname(join(folder, file)), { recursive: true })
        await Bun.write(join(folder, file), source)
      }
    })
    yield* run(["git", "-C", folder, "init", "--quiet"])
    yield* run(["git", "-C", folder, "add", "--all"])
    yield* run(["git", ...author, "-C", folder, "commit", "--quiet", "--message", "As it is now"])
  })

/** Clones a repository, and installs its dependencies. */
export const clone = (from: string, folder: string) =>
  Effect.andThen(
    run(["git", "clone", "--quiet", from, folder]),
    run([process.execPath, "install", "--cwd", folder, "--frozen-lockfile", "--silent"])
  )

/** Builds a release in a clone. */
export const build = (folder: string, args: ReadonlyArray<string>, env?: Process.Environment) =>
  run([process.execPath, join(folder, "deploy/build.ts"), ...args], env)

/** The folders of a release. */
export interface Release {
  readonly repository: string
  /** The folder with the builds for all systems. */
  readonly dist: string
  /** The full hash of the commit. */
  readonly commit: string
}

const make = Effect.gen(function* () {
  const folder = yield* Effect.promise(() => mkdtemp(join(tmpdir(), "homeostat-release-")))
  AtEnd.add(() => {
    made = undefined
    return rm(folder, { recursive: true, force: true })
  })
  const [origin, repository] = [join(folder, "origin"), join(folder, "clone")]
  yield* commit(origin)
  yield* clone(origin, repository)
  yield* build(repository, ["--all"])
  const head = yield* run(["git", "-C", repository, "rev-parse", "HEAD"])
  return { repository, dist: join(repository, "dist"), commit: head }
})

let made: Promise<Release> | undefined

/** The release. The first test that uses it waits half a minute for the build, or longer if Bun for other systems must be downloaded. */
export const get: Effect.Effect<Release> = Effect.promise(() => {
  made ??= Effect.runPromise(make)
  return made
})

/** The time limit of the first test, in milliseconds. */
export const millis = 400_000
