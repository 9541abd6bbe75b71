/** The verbs of a command line, with their flags and their help. */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Flag from "./Flag.ts"
import * as Setting from "./Setting.ts"

/** The command line or one of its variables is invalid. The message is one line with the accepted values. */
export class UsageError extends Data.TaggedError("UsageError")<{ readonly message: string }> {}

/** The input of a verb. */
export interface Input {
  /** The arguments after the verb. */
  readonly args: ReadonlyArray<string>
  readonly environment: { readonly [name: string]: string | undefined }
}

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
  readonly run: (input: Input) => Effect.Effect<void, E | UsageError, R>
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
    readonly run: (values: Flag.Values<F>, words: ReadonlyArray<string>) => Effect.Effect<void, E, R>
  }
): Verb<E, R> => ({
  name,
  description: options.description,
  words: options.words?.placeholder,
  flags: Object.values(options.flags),
  settings: options.settings,
  run: ({ args, environment }) =>
    Either.match(Flag.readBeside(options.words?.most ?? 0, options.flags, args, environment), {
      onLeft: (message) => Effect.fail(new UsageError({ message })),
      onRight: ({ values, words }) => options.run(values, words)
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
  args: ReadonlyArray<string>
): Either.Either<Request<E, R>, UsageError> => {
  const [word, ...rest] = args
  const asked = word === "help" ? rest[0] : word
  const verb = verbs.find(({ name }) => name === asked)
  if (args.some((arg, index) => (index === 0 ? helpWords.has(arg) : arg === "--help" || arg === "-h"))) {
    return Either.right({ _tag: "Print", text: verb === undefined ? overview(program, verbs) : helpOf(program, verb) })
  }
  if (word === "--version") return Either.right({ _tag: "Print", text: `${program.name} ${program.version}` })
  if (verb !== undefined) return Either.right({ _tag: "Run", verb, args: rest })
  const there = verbs.map(({ name }) => name).join(", ")
  return Either.left(
    new UsageError({
      message:
        word === undefined
          ? `verb required (must be one of ${there})`
          : `unknown verb: "${word}" (must be one of ${there})`
    })
  )
}

const overview = (program: Named, verbs: ReadonlyArray<Verb<never, never> | Verb<unknown, unknown>>): string => {
  const width = Math.max(...verbs.map(({ name }) => name.length))
  return [
    program.description,
    "",
    `Usage: ${program.name} VERB [flags]`,
    "",
    ...verbs.map(({ name, description }) => `  ${name.padEnd(width)}  ${description}`),
    "",
    `${program.name} VERB --help lists the flags of a verb.`
  ].join("\n")
}

const helpOf = (program: Named, verb: Verb<never, never> | Verb<unknown, unknown>): string => {
  const [first] = verb.flags
  const called = [program.name, verb.name, ...(verb.words === undefined ? [] : [verb.words])].join(" ")
  if (first === undefined) return `${verb.description}\n\nUsage: ${called}`
  return [
    verb.description,
    "",
    `Usage: ${called} [flags]`,
    "",
    ...Flag.describe(verb.flags),
    "",
    `Each can be given as an environment variable: --${first.name} as ${Flag.variableOf(first.name)}, and so on.`,
    ...(verb.settings === undefined
      ? []
      : ["", "Environment variables of the controllers:", "", ...Setting.describe(verb.settings)])
  ].join("\n")
}
