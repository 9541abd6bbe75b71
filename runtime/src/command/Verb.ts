/** The verbs of a command line, with their flags and their help. */
import * as Console from "effect/Console"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Flag from "./Flag.ts"
import * as Help from "./Help.ts"
import * as Setting from "./Setting.ts"

/** The command line or one of its variables is invalid. The message is one line with the accepted values. */
export class UsageError extends Data.TaggedError("UsageError")<{ readonly message: string }> {}

/** A verb. */
export interface Verb<E, R> {
  readonly name: string
  /** One line. */
  readonly description: string
  /** The positional arguments, as in the help. */
  readonly words?: string | undefined
  readonly flags: ReadonlyArray<Flag.Flag<unknown>>
  /** Further environment variables, as in the help. */
  readonly settings?: Setting.Settings | undefined
  readonly run: (input: Flag.Input) => Effect.Effect<void, E | UsageError, R>
}

/** Makes a verb. */
export const make = <F extends Flag.Flags, E, R>(
  name: string,
  options: {
    readonly description: string
    /** The positional arguments. Default: none. */
    readonly words?: { readonly placeholder: string; readonly most: number } | undefined
    readonly flags: F
    /** Environment variables without a flag, for the help. Default: none. */
    readonly settings?: Setting.Settings | undefined
    readonly run: (
      values: Flag.Values<F>,
      words: ReadonlyArray<string>,
      /** Warnings about deprecated names of flags. A verb with `logsWarnings` logs them; others print them first. */
      deprecated: ReadonlyArray<string>
    ) => Effect.Effect<void, E, R>
    readonly logsWarnings?: boolean | undefined
  }
): Verb<E, R> => ({
  name,
  description: options.description,
  words: options.words?.placeholder,
  flags: Object.values(options.flags),
  settings: options.settings,
  run: (input) =>
    Either.match(Flag.read(options.flags, input, options.words?.most), {
      onLeft: (message) =>
        Effect.fail(
          new UsageError({ message: message.replace(/^unknown flag: .*$/, `$& (see ${input.program} ${name} --help)`) })
        ),
      onRight: ({ deprecated, values, words }) => {
        const warned = options.logsWarnings ? [] : deprecated
        return Effect.zipRight(
          Effect.forEach(warned, (warning) => Console.error(`${input.program}: ${warning}`), { discard: true }),
          options.run(values, words, deprecated)
        )
      }
    })
})

/** A program, as its help names it. */
export interface Named {
  readonly name: string
  readonly version: string
  /** One line. */
  readonly description: string
}

const helpWords = new Set(["help", "--help", "-h"])

/** The meaning of a command line: a text to print, or a verb to run. */
export type Request<E, R> =
  | { readonly _tag: "Print"; readonly text: string }
  | { readonly _tag: "Run"; readonly verb: Verb<E, R>; readonly args: ReadonlyArray<string> }

/** Parses a command line. `--help` has precedence over everything else, including invalid arguments. */
export const select = <E, R>(
  program: Named,
  verbs: ReadonlyArray<Verb<E, R>>,
  args: ReadonlyArray<string>,
  /** The width of help, in characters. */
  width = Help.width()
): Either.Either<Request<E, R>, UsageError> => {
  const [word, ...rest] = args
  const asked = word === "help" ? rest[0] : word
  const verb = verbs.find(({ name }) => name === asked)
  if (args.some((arg, index) => (index === 0 ? helpWords.has(arg) : arg === "--help" || arg === "-h"))) {
    return Either.right({
      _tag: "Print",
      text: verb === undefined ? overview(program, verbs, width) : helpOf(program, verb, width)
    })
  }
  if (word === "--version") return Either.right({ _tag: "Print", text: `${program.name} ${program.version}` })
  if (verb !== undefined) return Either.right({ _tag: "Run", verb, args: rest })
  const there = verbs.map(({ name }) => name).join(", ")
  return Either.left(
    new UsageError({
      message:
        word === undefined
          ? `command required (must be one of ${there})`
          : `unknown command: "${word}" (must be one of ${there})`
    })
  )
}

type Any = Verb<never, never> | Verb<unknown, unknown>

const more = (program: Named, command: string): string =>
  `Use "${program.name} ${command}--help" for more information about a command.`

const overview = (program: Named, verbs: ReadonlyArray<Any>, width: number): string =>
  [
    ...Help.wrapped(program.description, width),
    "",
    "Usage:",
    `  ${program.name} [command]`,
    "",
    "Available Commands:",
    ...Help.columns(
      verbs.map(({ description, name }) => [name, description]),
      width
    ),
    "",
    "Flags:",
    ...Help.columns(
      [
        ["-h, --help", `help for ${program.name}`],
        ["    --version", "print the version"]
      ],
      width
    ),
    "",
    more(program, "[command] ")
  ].join("\n")

const helpOf = (program: Named, verb: Any, width: number): string => {
  const [first] = verb.flags
  const called = [program.name, verb.name, ...(verb.words === undefined ? [] : [verb.words])].join(" ")
  const usage = [...Help.wrapped(verb.description, width), "", "Usage:"]
  if (first === undefined) return [...usage, `  ${called}`].join("\n")
  const variable = Flag.variableOf(program.name, first.name)
  return [
    ...usage,
    `  ${called} [flags]`,
    "",
    "Flags:",
    ...Flag.describe(verb.flags, width),
    "",
    ...Help.wrapped(`Environment variables set flags too: --${first.name} is ${variable}.`, width),
    ...(verb.settings === undefined
      ? []
      : ["", "Environment variables of the controllers:", ...Setting.describe(verb.settings, width)])
  ].join("\n")
}
