/** Runs a cluster in the background. */
import { spawn } from "node:child_process"
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"

/** The background program cannot start, or ended before it was ready. */
export class DetachError extends Data.TaggedError("DetachError")<{ readonly message: string }> {}

/**
 * Runs a program with Node or Bun in the background, and returns its output after the first line. The program writes to files in
 * `folder`, or to deleted files.
 * Fails with the program's own message if the program ends first.
 */
export const run = (args: ReadonlyArray<string>, folder: string | undefined): Effect.Effect<string, DetachError> =>
  Effect.gen(function* () {
    const { child, ended, place } = yield* started(args, folder)
    const text = (file: string) => readFileSync(join(place, file), "utf8")
    const ready = Effect.sync(() => text(stdout)).pipe(
      Effect.delay("20 millis"),
      Effect.repeat({ until: (text) => text.endsWith("\n") })
    )
    const failed = Effect.flatMap(
      Effect.promise(() => ended),
      (reason) =>
        new DetachError({
          message:
            text(stderr)
              .trim()
              .replace(/^kubemem: /, "") || reason
        })
    )
    const printed = yield* Effect.raceFirst(ready, failed).pipe(
      Effect.onInterrupt(() => Effect.sync(() => child.kill())),
      Effect.ensuring(
        Effect.sync(() => {
          // The program keeps its files open without a name.
          if (folder === undefined) rmSync(place, { recursive: true })
        })
      )
    )
    child.unref()
    return printed.trimEnd()
  })

const [stdout, stderr] = ["stdout.log", "stderr.log"]

/** Only the owner can read the files, because the output can contain the administrator's token. */
const started = (args: ReadonlyArray<string>, folder: string | undefined) =>
  Effect.try({
    try: () => {
      const place = folder ?? mkdtempSync(join(tmpdir(), "kubemem-"))
      mkdirSync(place, { recursive: true, mode: 0o700 })
      const files = [stdout, stderr].map((name) => {
        // The file of an earlier program may have another mode.
        rmSync(join(place, name), { force: true })
        return openSync(join(place, name), "wx", 0o600)
      })
      const child = spawn(process.execPath, args, { detached: true, stdio: ["ignore", ...files] })
      const ended = new Promise<string>((resolve) => {
        child.on("exit", (code, signal) => resolve(`the cluster ended early: ${signal ?? `exit code ${code}`}`))
        child.on("error", ({ message }) => resolve(message))
      })
      for (const file of files) closeSync(file)
      return { child, ended, place }
    },
    catch: (error) =>
      new DetachError({ message: `cannot start in the background: ${error instanceof Error ? error.message : error}` })
  })
