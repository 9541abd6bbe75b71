/**
 * A change of this repository: it writes files, updates the lockfile and the generated files, and formats everything. If a step fails or is
 * interrupted, it restores all files.
 */
import { dirname, join } from "node:path"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import { FileSystem } from "effect/FileSystem"
import * as Snapshot from "./Snapshot.ts"

/** The files cannot be generated. The message is one line with what to do. */
export class NotMade extends Data.TaggedError("NotMade")<{ readonly message: string }> {}

/** The file with the program. */
export const mainFile = "controllers/main.ts"

/** An existing controller of the program. */
export interface Existing {
  readonly name: string
  readonly resource: {
    readonly group: string
    readonly kind: string
    readonly plural: string
    readonly namespaced: boolean
  }
}

/** Loads the controllers of the program. */
export const loaded = (existing: () => Promise<ReadonlyArray<Existing>>) =>
  Effect.tryPromise({
    try: existing,
    catch: (error) =>
      new NotMade({
        message: `${mainFile} can't be loaded, fix it first: ${error instanceof Error ? error.message : String(error)}`
      })
  })

/** Runs a program of the workspace to its end. The error has its output. */
const ran = (root: string, what: string, command: ReadonlyArray<string>) =>
  Effect.acquireUseRelease(
    Effect.try(() => {
      const child = Bun.spawn([process.execPath, ...command], { cwd: root, stdio: ["ignore", "pipe", "pipe"] })
      // The output ends with the last child process.
      const end = Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text(), child.exited])
      return { child, end }
    }),
    ({ end }) => Effect.tryPromise(() => end),
    // After an interruption, files are restored only when the program has ended.
    ({ child, end }) =>
      Effect.promise(() => {
        child.kill("SIGINT")
        return end.catch(() => child.exited)
      })
  ).pipe(
    Effect.mapError(({ cause }) => {
      const why = cause instanceof Error ? cause.message : String(cause)
      return new NotMade({ message: `${what}: ${why}; everything is as before` })
    }),
    Effect.flatMap(([out, err, code]) => {
      if (code === 0) return Effect.void
      const text = `${out}${err}`.trim().split("\n").slice(-20).join("\n")
      return new NotMade({ message: `${what} ended with ${code}; everything is as before. It wrote:\n${text}` })
    })
  )

/** The existing paths that a change writes. You can edit other files at the same time. */
const touched = [
  mainFile,
  "package.json",
  "bun.lock",
  "deploy/crds",
  "deploy/rbac",
  "deploy/components/lockdown",
  "docs/metrics.md",
  "docs/reference"
]

/** The parts of a change, with paths from the root. */
export interface Parts {
  /** The texts of new files. */
  readonly files: ReadonlyMap<string, string>
  /** The new texts of existing files. */
  readonly edits: ReadonlyMap<string, string>
  /** The new paths. */
  readonly added: ReadonlyArray<string>
  /** Whether the lockfile changes. */
  readonly installs: boolean
  /** Whether the repository has generated files. */
  readonly generates: boolean
}

/** Makes the change. */
export const make = (root: string, { added, edits, files, generates, installs }: Parts) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem
    const restore = yield* Snapshot.take(touched.map((path) => join(root, path)))
    const removals = added.map((path) => fs.remove(join(root, path), { recursive: true, force: true }))
    const undo = Effect.orDie(Snapshot.each([restore, ...removals]))
    yield* Effect.gen(function* () {
      for (const [path, text] of [...files, ...edits]) {
        yield* fs.makeDirectory(dirname(join(root, path)), { recursive: true })
        yield* fs.writeFileString(join(root, path), text)
      }
      if (installs) yield* ran(root, "bun install", ["install", "--prefer-offline"])
      // Without linting, which covers the whole project: a test checks that generated files pass.
      const formatted = [...edits.keys(), ...files.keys()]
      yield* ran(root, "biome", ["x", "--bun", "biome", "check", "--write", "--linter-enabled=false", ...formatted])
      // The generated files of deploy/ and docs/.
      if (generates) yield* ran(root, "bun run generate", ["run", "generate"])
    }).pipe(Effect.onError(() => undo))
  })
