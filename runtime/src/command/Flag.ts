/**
 * Flags of a command line. Each flag is also an environment variable with the program's name: `--log-level` of a program `sites` is
 * `SITES_LOG_LEVEL`. The command line has precedence.
 *
 * This is own code because of the messages: @effect/cli reports an unknown argument for a repeated flag, a missing value and an invalid
 * value, and its help has four paragraphs per flag.
 */
import type * as Duration from "effect/Duration"
import * as Result from "effect/Result"
import * as DurationText from "./DurationText.ts"
import * as Help from "./Help.ts"

/** A flag whose value is an A. */
export interface Flag<out A> {
  /** The name without the two dashes. */
  readonly name: string
  /** The letter of the short form, without the dash. */
  readonly short?: string | undefined
  /** A deprecated name, which still works. */
  readonly former?: string | undefined
  /** Kubebuilder's name, which works too. */
  readonly alias?: string | undefined
  /** The placeholder of its value in the help. A flag without one is a switch. */
  readonly placeholder: string | undefined
  /** The effect, in one line. */
  readonly description: string
  /**
   * Parses the given values, in order; none if the flag is absent. Failure: a message with the accepted values.
   *
   * @param origin the source of the values: the flag or its variable
   */
  readonly read: (given: ReadonlyArray<string>, origin: string) => Result.Result<A, string>
}

/** Flags by the program's names for them. */
export interface Flags {
  readonly [key: string]: Flag<unknown>
}

/** The values that {@link read} returns. */
export type Values<F extends Flags> = { readonly [K in keyof F]: F[K] extends Flag<infer A> ? A : never }

/** The definition of a flag. */
export interface Options {
  readonly placeholder: string
  readonly description: string
}

/** The environment variable of a flag of a program. */
export const variableOf = (program: string, name: string): string =>
  `${program}_${name}`.toUpperCase().replaceAll(/[^A-Z0-9]/g, "_")

/** A flag with one value. If it is repeated, the last value counts, so that a suffix can override a command line. */
export const parsed = <A, B>(
  name: string,
  options: Options & {
    readonly parse: (text: string, origin: string) => Result.Result<A, string>
    readonly otherwise: B
  }
): Flag<A | B> => ({
  name,
  placeholder: options.placeholder,
  description: options.description,
  read: (given, origin) => {
    const last = given.at(-1)
    return last === undefined ? Result.succeed(options.otherwise) : options.parse(last, origin)
  }
})

/** The flag with a short form, such as `-n`. */
export const short = <A>(letter: string, flag: Flag<A>): Flag<A> => ({ ...flag, short: letter })

/** The flag with a deprecated name, which still works. */
export const renamed = <A>(former: string, flag: Flag<A>): Flag<A> => ({ ...flag, former })

/** The flag with another name that Kubebuilder's users know. */
export const aliased = <A>(alias: string, flag: Flag<A>): Flag<A> => ({ ...flag, alias })

/** A flag with any text. */
export const text = (name: string, options: Options): Flag<string | undefined> =>
  parsed(name, { ...options, parse: Result.succeed, otherwise: undefined })

/** A flag with one of several words. */
export const choice = <A, B>(
  name: string,
  choices: { readonly [word: string]: A },
  options: Options & { readonly otherwise: B }
): Flag<A | B> => {
  const words = Object.keys(choices)
  return parsed(name, {
    placeholder: options.placeholder,
    description: options.description,
    otherwise: options.otherwise,
    parse: (word) => {
      const chosen = Object.hasOwn(choices, word) ? choices[word] : undefined
      return chosen === undefined
        ? Result.fail(`invalid value: "${word}" (must be one of ${words.join(", ")})`)
        : Result.succeed(chosen)
    }
  })
}

/** A flag with a duration. */
export const duration = (
  name: string,
  options: {
    readonly description: string
    readonly otherwise: string
    /** The shortest accepted duration. */
    readonly atLeast?: string | undefined
  }
): Flag<Duration.Duration> => {
  const parse = DurationText.parse({ atLeast: options.atLeast })
  return {
    name,
    placeholder: "DURATION",
    description: `${options.description} (default ${options.otherwise})`,
    read: (given) => parse(given.at(-1) ?? options.otherwise)
  }
}

/** A flag with several values, separated by commas or given by repeating the flag. */
export const list = (
  name: string,
  options: Options & { readonly check?: ((value: string) => Result.Result<string, string>) | undefined }
): Flag<ReadonlyArray<string>> => ({
  name,
  placeholder: options.placeholder,
  description: options.description,
  read: (given) => {
    const values = given
      .flatMap((text) => text.split(","))
      .map((value) => value.trim())
      .filter((value) => value !== "")
    return Result.all(values.map(options.check ?? Result.succeed))
  }
})

const truths: { readonly [word: string]: boolean } = { true: true, "1": true, false: false, "0": false }

/** A switch. `=false`, or the variable, turns it off. */
export const toggle = (name: string, options: { readonly description: string }): Flag<boolean> => ({
  name,
  placeholder: undefined,
  description: options.description,
  read: (given) => {
    const last = given.at(-1)
    const value = last === undefined ? false : truths[last]
    return value === undefined ? Result.fail(`invalid value: "${last}" (must be true or false)`) : Result.succeed(value)
  }
})

/** The flag of an argument, and the value if the argument contains it: `--namespace=shop`, `-n=shop`, `-nshop`. */
const named = (flags: ReadonlyArray<Flag<unknown>>, arg: string) => {
  const [, name, long] = /^--([^=]+)(?:=(.*))?$/s.exec(arg) ?? []
  if (name !== undefined)
    return { flag: flags.find((flag) => [flag.name, flag.former, flag.alias].includes(name)), inline: long }
  const [, letter, inline] = /^-([a-z])(?:=?(.+))?$/s.exec(arg) ?? []
  return { flag: flags.find(({ short }) => short !== undefined && short === letter), inline }
}

/** The message for an unknown flag, with the flag that it resembles: `--zap-log-level` resembles `--log-level`. */
const unknown = (flags: ReadonlyArray<Flag<unknown>>, arg: string): string => {
  const [given = ""] = arg.split("=", 1)
  const name = given.slice(2)
  const alike = flags.find((flag) => name.endsWith(`-${flag.name}`) || flag.name.endsWith(`-${name}`))
  return `unknown flag: ${given}${alike === undefined ? "" : ` (did you mean --${alike.name}?)`}`
}

/** The given values of each flag, in order, and the positional arguments. */
const collect = (
  flags: ReadonlyArray<Flag<unknown>>,
  args: ReadonlyArray<string>,
  mostWords: number
): Result.Result<
  {
    readonly given: ReadonlyMap<string, ReadonlyArray<string>>
    readonly words: ReadonlyArray<string>
    readonly deprecated: ReadonlyArray<string>
  },
  string
> => {
  const given = new Map<string, ReadonlyArray<string>>()
  const words: Array<string> = []
  const deprecated: Array<string> = []
  for (let index = 0; index < args.length; index++) {
    const arg = args[index] ?? ""
    const { flag, inline } = named(flags, arg)
    if (flag === undefined) {
      if (arg.startsWith("-")) return Result.fail(unknown(flags, arg))
      if (words.length === mostWords) return Result.fail(`unexpected argument: "${arg}"`)
      words.push(arg)
      continue
    }
    if (flag.former !== undefined && arg.split("=", 1)[0] === `--${flag.former}`) {
      deprecated.push(`--${flag.former} is deprecated (use --${flag.name})`)
    }
    let value = inline
    if (value === undefined && flag.placeholder === undefined) value = "true"
    if (value === undefined) {
      const next = args[index + 1]
      if (next === undefined || next.startsWith("--")) {
        return Result.fail(`value required: --${flag.name} ${flag.placeholder}`)
      }
      value = next
      index++
    }
    given.set(flag.name, [...(given.get(flag.name) ?? []), value])
  }
  return Result.succeed({ given, words, deprecated })
}

/** The input of a command. */
export interface Input {
  /** The program's name, the prefix of its environment variables. */
  readonly program: string
  /** The arguments after the command. */
  readonly args: ReadonlyArray<string>
  readonly environment: { readonly [name: string]: string | undefined }
}

/** The parsed input of a command. */
export interface Read<F extends Flags> {
  readonly values: Values<F>
  /** The positional arguments. */
  readonly words: ReadonlyArray<string>
  /** Warnings about deprecated names. */
  readonly deprecated: ReadonlyArray<string>
}

/**
 * The values of flags: from the command line, else from the environment, else the defaults. An empty variable counts as not set.
 * Failure: one line that names the flag, or the variable if the value came from there.
 *
 * @param mostWords the largest number of positional arguments
 */
export const read = <F extends Flags>(
  flags: F,
  { args, environment, program }: Input,
  mostWords = 0
): Result.Result<Read<F>, string> =>
  Result.flatMap(collect(Object.values(flags), args, mostWords), ({ deprecated, given, words }) => {
    const values: { [key: string]: unknown } = {}
    const warnings = [...deprecated]
    for (const [key, flag] of Object.entries(flags)) {
      const current = variableOf(program, flag.name)
      const former = flag.former === undefined ? undefined : variableOf(program, flag.former)
      const isFormer = former !== undefined && !environment[current] && Boolean(environment[former])
      if (isFormer) warnings.push(`${former} is deprecated (use ${current})`)
      const variable = isFormer ? former : current
      const set = environment[variable] ?? ""
      const written = given.get(flag.name)
      const origin = written === undefined && set !== "" ? variable : `--${flag.name}`
      const value = flag.read(written ?? (set === "" ? [] : [set]), origin)
      if (Result.isFailure(value)) return Result.fail(`${origin}: ${value.failure}`)
      values[key] = value.success
    }
    // The compiler cannot infer the type of each key in a loop.
    return Result.succeed({ values: values as Values<F>, words, deprecated: warnings })
  })

/** The flags as lines of help: see {@link Help.columns}. */
export const describe = (flags: ReadonlyArray<Flag<unknown>>, width: number): ReadonlyArray<string> =>
  Help.columns(
    flags.map(({ description, name, placeholder, short }) => [
      `${short === undefined ? "    " : `-${short}, `}--${name}${placeholder === undefined ? "" : ` ${placeholder}`}`,
      description
    ]),
    width
  )
