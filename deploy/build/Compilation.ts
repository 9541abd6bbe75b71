/**
 * The program as one file for one system.
 *
 * The same sources give the same bytes on every machine: the program contains no path, no time and no value of the environment.
 */
import { mkdtemp, rename, rm } from "node:fs/promises"
import { basename, dirname, join } from "node:path"
import type { Build } from "@homeostat/runtime/command/Build"
import * as JitPolicy from "@homeostat/runtime/command/JitPolicy"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import type { Sources } from "./Sources.ts"
import type { Target } from "./Target.ts"

/** Bun cannot compile the program. The message is Bun's. */
export class CompilationFailed extends Data.TaggedError("CompilationFailed")<{ readonly message: string }> {}

/** The input of a compilation. */
export interface Options {
  /** The root of the repository. */
  readonly root: string
  /** The file that runs the program, from there. */
  readonly entrypoint: string
  readonly sources: Sources
  readonly target: Target
  /** Bun's executable for the target. */
  readonly executable: string
  /** Where the program is to be; its folder is there. */
  readonly file: string
}

/** Bun's record of a compilation: inputs and outputs. */
export type Metafile = NonNullable<Bun.BuildOutput["metafile"]>

/**
 * How, and why so. Bytecode: half the time to start. Splitting: what is seldom needed is not read before. Source maps: a stack names
 * lines of the sources; they are in the file, and are read when a stack is printed.
 */
const settings = { bytecode: true, minify: true, sourcemap: "linked", splitting: true } as const

const jitPolicy = JitPolicy.starting

/** The functions that a start uses, as `bun test/order.ts` records them: their bytecode is put together. */
export const order = join(import.meta.dir, "start.order")

/** The build settings that `version` prints. */
export const recordOf = ({ sources, target }: Pick<Options, "sources" | "target">): Build => ({
  commit: sources.commit,
  date: sources.date,
  target,
  runtime: `bun ${Bun.version}`,
  settings: Object.entries({ ...settings, jitPolicy }).map(([name, value]) =>
    value === true ? name : `${name}=${value}`
  )
})

/** The name of the program inside its file: the same for every system. */
const inner = "program"

const messageOf = (error: unknown): string =>
  error instanceof AggregateError
    ? [error.message, ...error.errors.map(String)].join("\n")
    : error instanceof Error
      ? error.message
      : String(error)

/** Compiles it. */
export const make = ({
  entrypoint,
  executable,
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
              executablePath: executable,
              outfile: join(folder, inner),
              jitPolicy,
              bytecodeOrder: order,
              // Files in the working directory must not change the behaviour of the program.
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
          if (metafile === undefined) throw new Error("Bun returned no metafile")
          await rename(join(folder, inner), file)
          return metafile
        },
        catch: (error) => new CompilationFailed({ message: messageOf(error) })
      }),
    (folder) => Effect.promise(() => rm(folder, { recursive: true, force: true }))
  )
