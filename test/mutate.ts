/**
 * `bun run mutate` changes sources of the product one at a time on a copy, and shows the changes that tests miss. `--help` prints the
 * flags.
 * It does not run in CI, because a person has to judge most survivors.
 */
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { Cause, Console, Effect, Exit, Fiber, Option } from "effect"
import * as Imports from "./mutation/Imports.ts"
import * as Mutant from "./mutation/Mutant.ts"
import * as Options from "./mutation/Options.ts"
import * as Project from "./mutation/Project.ts"
import * as Report from "./mutation/Report.ts"
import * as Trial from "./mutation/Trial.ts"

const root = join(import.meta.dir, "..")

/** The sources to mutate. */
const sourcesOf = ({ base, paths }: Options.Options) =>
  Effect.gen(function* () {
    if (paths.length > 0) return { origin: paths.join(" "), files: yield* Project.named(root, paths) }
    const { base: since, files } =
      base === undefined ? yield* Project.changed(root) : { base, files: yield* Project.changedSince(root, base) }
    return { origin: `the changes since ${since}`, files }
  })

/** The mutants to try. The seed and the sources go to standard error, because `--list` prints JSON. */
const mutantsOf = (chosen: Options.Options) =>
  Effect.gen(function* () {
    if (chosen.replay !== undefined) return chosen.replay
    const { files, origin } = yield* sourcesOf(chosen)
    const seed = chosen.seed ?? (yield* Project.seedOfCommit(root))
    const texts = yield* Effect.promise(() =>
      Promise.all(files.map(async (file) => [file, await readFile(join(root, file), "utf8")] as const))
    )
    const mutants = Mutant.draw(new Map(texts), seed, chosen.count)
    yield* Console.error(`${mutants.length} mutants of ${files.length} files (${origin}), --seed ${seed}`)
    return mutants
  })

const main = (chosen: Options.Options) =>
  Effect.gen(function* () {
    const mutants = yield* mutantsOf(chosen)
    if (chosen.list) {
      yield* Console.log(JSON.stringify(mutants, null, 2))
      return true
    }
    const files = yield* Effect.promise(() => Project.filesOf(root))
    const tried: Array<Trial.Tried> = []
    const soFar = Effect.suspend(() => Console.log(Report.summary({ tried, failing: [], slow: [] })))
    const outcome = yield* Trial.run({
      root,
      mutants,
      tests: files.filter(Imports.isTest),
      testsOf: yield* Effect.promise(() => Imports.read(root, files)),
      limit: chosen.limit,
      jobs: chosen.jobs,
      report: (one) => {
        tried.push(one)
        return Console.log(Report.line(one))
      }
    }).pipe(Effect.onInterrupt(() => soFar))
    yield* Console.log(Report.summary(outcome))
    return outcome.failing.length === 0
  }).pipe(Effect.scoped)

const run = async (): Promise<number> => {
  let chosen: Options.Options
  try {
    chosen = Options.parse(process.argv.slice(2))
  } catch (error) {
    process.stderr.write(`mutate: ${error instanceof Error ? error.message : error}\n\n${Options.usage}\n`)
    return 2
  }
  if (chosen.help) {
    process.stdout.write(`${Options.usage}\n`)
    return 0
  }
  const fiber = Effect.runFork(main(chosen))
  const stop = () => fiber.interruptUnsafe()
  process.once("SIGINT", stop).once("SIGTERM", stop).once("SIGHUP", stop)
  const exit = await Effect.runPromise(Fiber.await(fiber))
  if (Exit.isSuccess(exit)) return exit.value ? 0 : 1
  const failure = Option.map(Cause.findErrorOption(exit.cause), ({ message }) => message)
  const other = Cause.hasInterruptsOnly(exit.cause) ? "interrupted" : Cause.pretty(exit.cause)
  process.stderr.write(`mutate: ${Option.getOrElse(failure, () => other)}\n`)
  return 1
}

process.exit(await run())
