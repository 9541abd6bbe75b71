/**
 * The program as one file for one system.
 *
 * The same sources give the same bytes, wherever they lie and whoever compiles them: no path of this machine gets in, no time, and
 * nothing of the environment.
 */
import { mkdtemp, rename, rm } from "node:fs/promises"
import { basename, dirname, join } from "node:path"
import type { Build } from "@homeostat/runtime/command/Build"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import type { Sources } from "./Sources.ts"
import type { Target } from "./Target.ts"

/** It can't be compiled; the message is what Bun says. */
export class CompilationFailed extends Data.TaggedError("CompilationFailed")<{ readonly message: string }> {}

/** What is compiled. */
export interface Options {
  /** The root of the repository. */
  readonly root: string
  /** The file that runs the program, from there. */
  readonly entrypoint: string
  readonly sources: Sources
  readonly target: Target
  /** Where the program is to be; its folder is there. */
  readonly file: string
}

/** What went in, and what came of it. */
export type Metafile = NonNullable<Bun.BuildOutput["metafile"]>

/**
 * How, and why so. Bytecode: half the time to start. Splitting: what is seldom needed is not read before. Source maps: a stack names
 * lines of the sources; they are in the file, and are read when a stack is printed.
 */
const settings = { bytecode: true, minify: true, sourcemap: "linked", splitting: true } as const

/**
 * Bun compiles a function to machine code after this many times as many calls as by default. A start calls most functions a few times
 * only. A higher number makes a start cheaper and a first pass slower: docs/performance.md has the measurements.
 */
const jitPolicy = 3

/** The functions that a start uses, as `bun test/order.ts` records them: their bytecode is put together. */
export const order = join(import.meta.dir, "start.order")

/** What the program says of how it was made. */
export const recordOf = ({ sources, target }: Pick<Options, "sources" | "target">): Build => ({
  commit: sources.commit,
  date: sources.date,
  target,
  runtime: `bun ${Bun.version}`,
  settings: Object.entries({ ...settings, jitPolicy }).map(([name, value]) =>
    value === true ? name : `${name}=${value}`
  )
})

/** What the program is called inside itself, for every system, so that only what differs does. */
const inner = "program"

const messageOf = (error: unknown): string =>
  error instanceof AggregateError
    ? [error.message, ...error.errors.map(String)].join("\n")
    : error instanceof Error
      ? error.message
      : String(error)

/** Compiles it. Another system's Bun comes from the npm registry, once; 36 MB. */
export const make = ({
  entrypoint,
  file,
  root,
  sources,
  target
}: Options): Effect.Effect<Metafile, CompilationFailed> =>
  Effect.acquireUseRelease(
    // Bun leaves the maps beside the program, which has its own.
    Effect.tryPromise({
      try: () => mkdtemp(join(dirname(file), `.${basename(file)}-`)),
      catch: (error) => new CompilationFailed({ message: messageOf(error) })
    }),
    (folder) =>
      Effect.tryPromise({
        try: async () => {
          const { metafile } = await Bun.build({
            ...settings,
            entrypoints: [join(root, entrypoint)],
            root,
            format: "esm",
            metafile: true,
            compile: {
              target: `bun-${target}`,
              outfile: join(folder, inner),
              jitPolicy,
              bytecodeOrder: order,
              // Neither is the business of whoever runs it: what it finds in its folder does not change what it does.
              autoloadDotenv: false,
              autoloadBunfig: false
            },
            define: {
              HOMEOSTAT_BUILD: JSON.stringify(recordOf({ sources, target })),
              // Instead of the environment's, which Bun would take.
              "process.env.NODE_ENV": JSON.stringify("production"),
              // Modules of CommonJS would have the paths of this machine. There are no files where they look for theirs anyhow.
              __dirname: JSON.stringify("/"),
              __filename: JSON.stringify("/")
            }
          })
          if (metafile === undefined) throw new Error("Bun tells nothing of what it compiled")
          await rename(join(folder, inner), file)
          return metafile
        },
        catch: (error) => new CompilationFailed({ message: messageOf(error) })
      }),
    (folder) => Effect.promise(() => rm(folder, { recursive: true, force: true }))
  )
