/** The project of `docs/guide/own-repository.md`, with the files and commands of the page. */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { delimiter, dirname, join } from "node:path"
import * as AtEnd from "@homeostat/testkit/envtest/AtEnd"
import { Data, Effect } from "effect"
import * as Running from "../binary/Running.ts"
import * as Markdown from "../docs/Markdown.ts"

const root = join(import.meta.dir, "../../..")

export const page = "docs/guide/own-repository.md"

/** A command of the page failed; the message contains its output. */
export class CommandFailed extends Data.TaggedError("CommandFailed")<{ readonly message: string }> {}

const blocks = Effect.promise(async () => Markdown.blocks(await Bun.file(join(root, page)).text()))

/** Removes the NODE_ENV of `bun test`, which the compiler would copy into the program. */
const environment = {
  ...process.env,
  NODE_ENV: undefined,
  PATH: [dirname(process.execPath), process.env.PATH].join(delimiter)
}

/** Runs a command in a folder to its end, and returns its standard output. */
export const run = (folder: string, command: string, clone = root): Effect.Effect<string, CommandFailed> =>
  Running.start(["sh", "-ec", `cd "$0"\n${command}`, folder], { ...environment, HOMEOSTAT: clone }).pipe(
    Effect.flatMap((running) => running.ended("5 minutes")),
    Effect.orDie,
    Effect.flatMap(({ code, stderr, stdout }) =>
      code === 0
        ? Effect.succeed(stdout)
        : Effect.fail(new CommandFailed({ message: `${command}\nended with ${code}:\n${stdout}${stderr}` }))
    ),
    Effect.scoped
  )

/** Runs the commands under a heading of the page, and returns the output of each block. Default: in the project, with this repository. */
export const follow = (
  heading: string,
  other?: { readonly folder: string; readonly clone: string }
): Effect.Effect<ReadonlyArray<string>, CommandFailed> =>
  Effect.flatMap(project, (folder) =>
    Effect.flatMap(commandsOf(heading), (blocks) =>
      Effect.forEach(blocks, (block) => run(other?.folder ?? folder, block, other?.clone))
    )
  )

const commandsOf = (heading: string): Effect.Effect<ReadonlyArray<string>> =>
  Effect.map(blocks, (blocks) => {
    const commands = blocks.filter((block) => block.language === "sh" && block.heading === heading)
    if (commands.length === 0) throw new Error(`no commands under heading: ${heading} (${page})`)
    return commands.map(({ text }) => text)
  })

const make = Effect.gen(function* () {
  for (const command of yield* commandsOf("Pack the packages")) yield* run(root, command)
  const folder = yield* Effect.promise(() => mkdtemp(join(tmpdir(), "homeostat-project-")))
  AtEnd.add(() => rm(folder, { recursive: true, force: true }))
  for (const { attributes, text } of yield* blocks) {
    const { title } = attributes
    if (title !== undefined) yield* Effect.promise(() => Bun.write(join(folder, title), text))
  }
  for (const command of yield* commandsOf("Set up the project")) yield* run(folder, command)
  return folder
})

let made: Promise<string> | undefined

/** The folder of the project with its packages, created once. */
export const project: Effect.Effect<string> = Effect.promise(() => {
  made ??= Effect.runPromise(make)
  return made
})

/** The tarballs by the names of the packages. */
export const tarballs: Effect.Effect<{ readonly [name: string]: string }> = Effect.map(project, (folder) => ({
  "@homeostat/apiserver": join(folder, "vendor/homeostat-apiserver-0.2.0-dev.tgz"),
  "@homeostat/observability": join(folder, "vendor/homeostat-observability-0.2.0-dev.tgz"),
  "@homeostat/runtime": join(folder, "vendor/homeostat-runtime-0.2.0-dev.tgz"),
  "@homeostat/testkit": join(folder, "vendor/homeostat-testkit-0.2.0-dev.tgz")
}))
