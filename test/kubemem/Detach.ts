/** Starts the cluster in the background. */
import { spawn } from "node:child_process"
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"

/** The program in the background ended before it was ready. */
export class DetachError extends Data.TaggedError("DetachError")<{ readonly message: string }> {}

/**
 * Runs a program of Node or Bun in the background, and returns its output when it has printed a line. The program writes to files in
 * `folder`, or to files without a name. Fails with the program's own message if the program ends first.
 */
export const run = (args: ReadonlyArray<string>, folder: string | undefined): Effect.Effect<string, DetachError> =>
  Effect.gen(function* () {
    const place = folder ?? mkdtempSync(join(tmpdir(), "kubemem-"))
    if (folder !== undefined) mkdirSync(folder, { recursive: true })
    const [stdout, stderr] = [join(place, "stdout.log"), join(place, "stderr.log")]
    const files = [openSync(stdout, "w"), openSync(stderr, "w")]
    const child = spawn(process.execPath, args, { detached: true, stdio: ["ignore", ...files] })
    const ended = new Promise<void>((resolve) => child.on("exit", () => resolve()).on("error", () => resolve()))
    for (const file of files) closeSync(file)
    const text = (file: string) => readFileSync(file, "utf8")
    const ready = Effect.sync(() => text(stdout)).pipe(
      Effect.delay("20 millis"),
      Effect.repeat({ until: (text) => text.endsWith("\n") })
    )
    const failed = Effect.flatMap(
      Effect.promise(() => ended),
      () =>
        new DetachError({
          message: text(stderr)
            .trim()
            .replace(/^kubemem: /, "")
        })
    )
    const printed = yield* Effect.raceFirst(ready, failed).pipe(
      Effect.onInterrupt(() => Effect.sync(() => child.kill())),
      Effect.ensuring(
        Effect.sync(() => {
          // The program keeps its files, without a name.
          if (folder === undefined) rmSync(place, { recursive: true })
        })
      )
    )
    child.unref()
    return printed.trimEnd()
  })
