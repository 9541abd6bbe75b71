/** The verbs of a command line, with their flags and their help. */
import * as Console from "effect/Console"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Flag from "./Flag.ts"
import * as Help from "./Help.ts"
import * as Setting from "./Setting.ts"

/** The command line or one of its variables is invalid. The message is one line with the accepted values. */
export class UsageError extends Data.TaggedError("UsageError")<{
  readonly message: string
  /** The exit code. Default: 2. */
  readonly code?: number | undefined
}> {}

/** A failure that is already in the log, so that the program only exits. */
export class Logged extends Data.TaggedError("Logged")<{ readonly code: number }> {}

/** A command line for the help: its purpose, and its words after the program's name. */
export type Example = readonly [purpose: string, words: string]

/** A verb. */
export interface Verb<E, R> {
  readonly name: string
  /** One line. */
  readonly description: string
  /** The positional arguments, as in the help. */
  readonly words?: string | undefined
  readonly flags: ReadonlyArray<Flag.Flag<unknown>>
  readonly examples?: ReadonlyArray<Example> | undefined
  /** Further environment variables, as in the help. */
  readonly settings?: Setting.Settings | undefined
  /** Whether the verb runs until a signal, which then is a success. Other verbs fail at a signal. Default: false. */
  readonly untilSignal?: boolean | undefined
  /** Whether the verb needs the service FileSystem. Default: true. */
  readonly usesFiles?: boolean | undefined
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
    /** For the help. Default: none. */
    readonly examples?: ReadonlyArray<Example> | undefined
    /** Environment variables without a flag, for the help. Default: none. */
    readonly settings?: Setting.Settings | undefined
    readonly run: (
      values: Flag.Values<F>,
      words: ReadonlyArray<string>,
      /** Warnings about deprecated names of flags. A verb with `logsWarnings` logs them; others print them first. */
      deprecated: ReadonlyArray<string>
    ) => Effect.Effect<void, E, R>
    readonly logsWarnings?: boolean | undefined
    /** Whether the verb runs until a signal, which then is a success. Other verbs fail at a signal. Default: false. */
    readonly untilSignal?: boolean | undefined
    /** Whether the verb needs the service FileSystem, whose module takes 6 ms to load. Default: true. */
    readonly usesFiles?: boolean | undefined
    /** The exit code of an invalid command line. Default: 2. */
    readonly misuse?: number | undefined
  }
): Verb<E, R> => ({
  name,
  description: options.description,
  words: options.words?.placeholder,
  flags: Object.values(options.flags),
  examples: options.examples,
  settings: options.settings,
  untilSignal: options.untilSignal,
  usesFiles: options.usesFiles,
  run: (input) =>
    Result.match(Flag.read(options.flags, input, options.words?.most), {
      onFailure: (message): Effect.Effect<void, E | UsageError, R> =>
        Effect.fail(new UsageError({ message: withHelp(message, `see ${input.program} ${name} --help`) })),
      onSuccess: ({ deprecated, values, words }): Effect.Effect<void, E | UsageError, R> => {
        const warned = options.logsWarnings ? [] : deprecated
        return Effect.andThen(
          Effect.forEach(warned, (warning) => Console.warn(`${input.program}: ${warning}`), { discard: true }),
          options.run(values, words, deprecated)
        )
      }
    }).pipe(
      Effect.mapError((error): E | UsageError =>
        error instanceof UsageError && options.misuse !== undefined
          ? new UsageError({ message: error.message, code: options.misuse })
          : error
      )
    )
})

/** The message about an unknown flag or one argument too many, with the command that explains what is possible. */
const withHelp = (message: string, see: string): string =>
  message.startsWith("unexpected argument: ")
    ? `${message} (${see})`
    : message.replace(/^(unknown flag: \S+)(?: \((.*)\))?$/, (_, problem, hint) =>
        hint === undefined ? `${problem} (${see})` : `${problem} (${hint} or ${see})`
      )

/** A program, as its help names it. */
export interface Named {
  readonly name: string
  readonly version: string
  /** One line. */
  readonly description: string
}

const helpFlags = new Set(["--help", "-h"])
const helpWords = new Set(["help", ...helpFlags])

/** The meaning of a command line: a text to print, or a verb to run. */
export type Request<E, R> =
  | { readonly _tag: "Print"; readonly text: string }
  | { readonly _tag: "Run"; readonly verb: Verb<E, R>; readonly args: ReadonlyArray<string> }

/** Parses a command line. `--help` has precedence over invalid arguments. Without a command, prints the help. */
export const select = <E, R>(
  program: Named,
  verbs: ReadonlyArray<Verb<E, R>>,
  args: ReadonlyArray<string>,
  /** The width of help, in characters. */
  width = Help.width()
): Result.Result<Request<E, R>, UsageError> => {
  const [word, ...rest] = args
  const asked = word === "help" ? rest[0] : word
  const verb = verbs.find(({ name }) => name === asked)
  const there = verbs.map(({ name }) => name).join(", ")
  const unknown = (word: string) =>
    Result.fail(
      new UsageError({
        message: misplaced(program, verbs, word) ?? `unknown command: "${word}" (must be one of ${there})`
      })
    )
  if (word === "help" && verb === undefined && asked !== undefined && !helpWords.has(asked)) return unknown(asked)
  if (word === undefined || args.some((arg, index) => (index === 0 ? helpWords : helpFlags).has(arg))) {
    return Result.succeed({
      _tag: "Print",
      text: verb === undefined ? overview(program, verbs, width) : helpOf(program, verb, width)
    })
  }
  if (word === "--version") return Result.succeed({ _tag: "Print", text: `${program.name} ${program.version}` })
  if (verb !== undefined) return Result.succeed({ _tag: "Run", verb, args: rest })
  return unknown(word)
}

/** The message for a flag in place of the command; undefined for a word. */
const misplaced = (program: Named, verbs: ReadonlyArray<Any>, word: string): string | undefined => {
  if (!word.startsWith("-")) return undefined
  const [flag = ""] = word.split("=", 1)
  const its = verbs.find(({ flags }) => flags.some(({ name, short }) => [`--${name}`, `-${short}`].includes(flag)))
  const hint =
    its === undefined ? `see ${program.name} --help` : `write it after a command: ${program.name} ${its.name} ${flag}`
  return `unknown flag: ${flag} (${hint})`
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
        ["-h, --help", `Help for ${program.name}`],
        ["    --version", "Print the version"]
      ],
      width
    ),
    "",
    more(program, "[command] ")
  ].join("\n")

/** `--help` as a line of help; {@link select} handles it. */
const help = (command: string): Flag.Flag<boolean> =>
  Flag.short("h", Flag.toggle("help", { description: `Help for ${command}` }))

const helpOf = (program: Named, verb: Any, width: number): string => {
  const [first] = verb.flags
  const called = [program.name, verb.name, ...(verb.words === undefined ? [] : [verb.words])].join(" ")
  return [
    ...Help.wrapped(verb.description, width),
    "",
    "Usage:",
    `  ${called} [flags]`,
    ...(verb.examples === undefined
      ? []
      : [
          "",
          "Examples:",
          ...verb.examples.flatMap(([purpose, words]) => [`  # ${purpose}`, `  ${program.name} ${words}`])
        ]),
    "",
    "Flags:",
    ...Flag.describe([...verb.flags, help(verb.name)], width),
    ...(first === undefined
      ? []
      : [
          "",
          ...Help.wrapped(
            `Environment variables set flags too: --${first.name} is ${Flag.variableOf(program.name, first.name)}.`,
            width
          )
        ]),
    ...(verb.settings === undefined
      ? []
      : ["", "Environment variables of the controllers:", ...Setting.describe(verb.settings, width)])
  ].join("\n")
}
