/**
 * Bun's executable for a system, which a build puts into the program. Bun downloads it without a check, and takes it from a folder that
 * the environment names. So a build compares it with its checksum in `executables.json`, which `bun deploy/executables.ts` writes.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Checksum from "./Checksum.ts"
import recorded from "./executables.json" with { type: "json" }
import * as Target from "./Target.ts"

/** The executable is missing, or is not the one of Bun's release. */
export class Unverified extends Data.TaggedError("Unverified")<{ readonly message: string }> {}

/** The name of a target in the names of Bun's packages and files. */
export const nameOf = (target: Target.Target): string => `bun-${target.replace("arm64", "aarch64")}`

const attempt = <A>(what: string, run: () => Promise<A>): Effect.Effect<A, Unverified> =>
  Effect.tryPromise({
    try: run,
    catch: (error) => new Unverified({ message: `${what}: ${error instanceof Error ? error.message : error}` })
  })

const output = async (command: ReadonlyArray<string>, cwd: string, more = {}): Promise<string> => {
  const child = Bun.spawn([...command], {
    cwd,
    env: { ...process.env, ...more },
    stdio: ["ignore", "pipe", "pipe"]
  })
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited
  ])
  if (code !== 0) throw new Error(err.trim().split("\n").at(-1))
  return out.trim()
}

/** Makes Bun download the executable into its cache. A compilation has no other effect, and Bun has no command for the download alone. */
const download = (target: Target.Target, cache: string): Effect.Effect<void, Unverified> =>
  Effect.acquireUseRelease(
    Effect.promise(() => mkdtemp(join(tmpdir(), "homeostat-bun-"))),
    (folder) =>
      Effect.tryPromise({
        try: async () => {
          await writeFile(join(folder, "empty.js"), "")
          const command = [process.execPath, "build", "--compile", `--target=bun-${target}`, "empty.js"]
          await output([...command, "--outfile", "program"], folder, { BUN_INSTALL_CACHE_DIR: cache })
        },
        catch: (error) =>
          new Unverified({
            message: `Bun for ${target} can't be downloaded: ${error instanceof Error ? error.message : error} (or put ${nameOf(target)}-v${Bun.version} into ${cache})`
          })
      }),
    (folder) => Effect.promise(() => rm(folder, { recursive: true, force: true }))
  )

const compared = (target: Target.Target, file: string, remedy: string): Effect.Effect<string, Unverified> =>
  Effect.flatMap(
    attempt(`Bun's executable for ${target} cannot be read`, () => Checksum.of(file)),
    (sum) =>
      sum === recorded.sha256[target]
        ? Effect.succeed(file)
        : new Unverified({
            message: `Bun's executable for ${target} differs from the release: ${file} has the SHA-256 ${sum} (must be ${recorded.sha256[target]}: ${remedy})`
          })
  )

/**
 * The path of the verified executable: this process's own, or the one in Bun's cache, into which it is downloaded once (36 MB).
 *
 * @param root the folder whose `bunfig.toml` may name the cache
 */
export const of = (target: Target.Target, root: string): Effect.Effect<string, Unverified | Target.UnknownTarget> =>
  Effect.gen(function* () {
    const { version } = recorded
    if (Bun.version !== version) {
      return yield* new Unverified({
        message: `unknown executables of Bun: ${Bun.version} (must be ${version}: run npx --yes bun@${version}, or record others with bun deploy/executables.ts)`
      })
    }
    if (target === (yield* Target.host)) {
      return yield* compared(target, process.execPath, `run npx --yes bun@${version} in its place`)
    }
    const cache = yield* attempt("cannot find the cache of Bun", () => output([process.execPath, "pm", "cache"], root))
    const file = join(cache, `${nameOf(target)}-v${version}`)
    if (!(yield* Effect.promise(() => Bun.file(file).exists()))) yield* download(target, cache)
    return yield* compared(target, file, "delete the file, and build again")
  })
