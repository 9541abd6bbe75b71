/**
 * Flags as values: a name, what it takes, what it means. Each can be given as an environment variable too: `--log-level` is
 * `HOMEOSTAT_LOG_LEVEL`, and the command line wins.
 *
 * Own code, because the messages are what matters here: @effect/cli calls a flag that was given twice, that lacks its value or
 * that has a wrong one an unknown argument, and its help is four paragraphs a flag.
 */
import type * as Duration from "effect/Duration"
import * as Either from "effect/Either"
import * as DurationText from "./DurationText.ts"

/** A flag whose value is an A. */
export interface Flag<out A> {
  /** As it is written behind the two dashes. */
  readonly name: string
  /** One letter, by which it can be written behind one dash. */
  readonly short?: string | undefined
  /** What stands for its value in the help. Without one it is a switch: on where it is named. */
  readonly placeholder: string | undefined
  /** What it does, in one line. */
  readonly description: string
  /**
   * The value of all that was given for it, in order; nothing, when it was not. A refusal says what is accepted.
   *
   * @param origin what it was given by: the flag, or its variable
   */
  readonly read: (given: ReadonlyArray<string>, origin: string) => Either.Either<A, string>
}

/** Flags by what the program calls them. */
export interface Flags {
  readonly [key: string]: Flag<unknown>
}

/** What {@link read} makes of flags. */
export type Values<F extends Flags> = { readonly [K in keyof F]: F[K] extends Flag<infer A> ? A : never }

/** What a flag takes and means. */
export interface Options {
  readonly placeholder: string
  readonly description: string
}

/** The environment variable of a flag. */
export const variableOf = (name: string): string => `HOMEOSTAT_${name.toUpperCase().replaceAll("-", "_")}`

/** A flag with a value that `parse` reads. Given several times, the last one counts: so a line can be overridden at its end. */
export const parsed = <A, B>(
  name: string,
  options: Options & {
    readonly parse: (text: string, origin: string) => Either.Either<A, string>
    readonly otherwise: B
  }
): Flag<A | B> => ({
  name,
  placeholder: options.placeholder,
  description: options.description,
  read: (given, origin) => {
    const last = given.at(-1)
    return last === undefined ? Either.right(options.otherwise) : options.parse(last, origin)
  }
})

/** The flag, which can be written by one letter too: `-n`. */
export const short = <A>(letter: string, flag: Flag<A>): Flag<A> => ({ ...flag, short: letter })

/** A flag with any text. */
export const text = (name: string, options: Options): Flag<string | undefined> =>
  parsed(name, { ...options, parse: Either.right, otherwise: undefined })

/** A flag with one of some words. */
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
        ? Either.left(`invalid value: "${word}" (must be one of ${words.join(", ")})`)
        : Either.right(chosen)
    }
  })
}

/** A flag with a duration. */
export const duration = (
  name: string,
  options: {
    readonly description: string
    readonly otherwise: string
    /** Shorter ones are refused. */
    readonly atLeast?: string | undefined
  }
): Flag<Duration.Duration> => {
  const parse = DurationText.parse({ atLeast: options.atLeast })
  return {
    name,
    placeholder: "DURATION",
    description: `${options.description}; default ${options.otherwise}`,
    read: (given) => parse(given.at(-1) ?? options.otherwise)
  }
}

/** A flag that may be given several times, and each time several values separated by commas. */
export const list = (
  name: string,
  options: Options & { readonly check?: ((value: string) => Either.Either<string, string>) | undefined }
): Flag<ReadonlyArray<string>> => ({
  name,
  placeholder: options.placeholder,
  description: options.description,
  read: (given) => {
    const values = given
      .flatMap((text) => text.split(","))
      .map((value) => value.trim())
      .filter((value) => value !== "")
    return Either.all(values.map(options.check ?? Either.right))
  }
})

const truths: { readonly [word: string]: boolean } = { true: true, "1": true, false: false, "0": false }

/** A flag that is on where it is named; `=false` (or the variable) switches it off. */
export const toggle = (name: string, options: { readonly description: string }): Flag<boolean> => ({
  name,
  placeholder: undefined,
  description: options.description,
  read: (given) => {
    const last = given.at(-1)
    const value = last === undefined ? false : truths[last]
    return value === undefined ? Either.left(`"${last}" is neither true nor false`) : Either.right(value)
  }
})

/** A flag that an argument names, and its value if that is part of it: `--namespace=shop`, `-n=shop`, `-nshop`. */
const named = (flags: ReadonlyArray<Flag<unknown>>, arg: string) => {
  const [, name, long] = /^--([^=]+)(?:=(.*))?$/s.exec(arg) ?? []
  if (name !== undefined) return { flag: flags.find((flag) => flag.name === name), inline: long }
  const [, letter, inline] = /^-([a-z])(?:=?(.+))?$/s.exec(arg) ?? []
  return { flag: flags.find(({ short }) => short !== undefined && short === letter), inline }
}

/** What was written for each flag, in order, and the words that stand by themselves. */
const collect = (
  flags: ReadonlyArray<Flag<unknown>>,
  args: ReadonlyArray<string>,
  mostWords: number
): Either.Either<
  { readonly given: ReadonlyMap<string, ReadonlyArray<string>>; readonly words: ReadonlyArray<string> },
  string
> => {
  const given = new Map<string, ReadonlyArray<string>>()
  const words: Array<string> = []
  for (let index = 0; index < args.length; index++) {
    const arg = args[index] ?? ""
    const { flag, inline } = named(flags, arg)
    if (flag === undefined) {
      if (arg.startsWith("-")) return Either.left(`unknown flag: ${arg}`)
      if (words.length === mostWords) return Either.left(`unexpected argument: "${arg}"`)
      words.push(arg)
      continue
    }
    let value = inline
    if (value === undefined && flag.placeholder === undefined) value = "true"
    if (value === undefined) {
      const next = args[index + 1]
      if (next === undefined || next.startsWith("--")) {
        return Either.left(`--${flag.name} needs a value: --${flag.name} ${flag.placeholder}`)
      }
      value = next
      index++
    }
    given.set(flag.name, [...(given.get(flag.name) ?? []), value])
  }
  return Either.right({ given, words })
}

/**
 * The values of flags: from the command line, else from the environment, else their defaults. A variable that is empty counts
 * as not set. The refusal is one line that names the flag, or the variable if the value came from there.
 */
export const read = <F extends Flags>(
  flags: F,
  args: ReadonlyArray<string>,
  environment: { readonly [name: string]: string | undefined }
): Either.Either<Values<F>, string> => Either.map(readBeside(0, flags, args, environment), ({ values }) => values)

/** The same of a command line that has words besides its flags, at most so many. */
export const readBeside = <F extends Flags>(
  mostWords: number,
  flags: F,
  args: ReadonlyArray<string>,
  environment: { readonly [name: string]: string | undefined }
): Either.Either<{ readonly values: Values<F>; readonly words: ReadonlyArray<string> }, string> =>
  Either.flatMap(collect(Object.values(flags), args, mostWords), ({ given, words }) => {
    const values: { [key: string]: unknown } = {}
    for (const [key, flag] of Object.entries(flags)) {
      const variable = variableOf(flag.name)
      const set = environment[variable] ?? ""
      const written = given.get(flag.name)
      const origin = written === undefined && set !== "" ? variable : `--${flag.name}`
      const value = flag.read(written ?? (set === "" ? [] : [set]), origin)
      if (Either.isLeft(value)) return Either.left(`${origin}: ${value.left}`)
      values[key] = value.right
    }
    // Every key of F was read by the flag under it, which the compiler can't follow through a loop.
    return Either.right({ values: values as Values<F>, words })
  })

/** The flags as lines of help: what is written, and in a second column what it does. */
export const describe = (flags: ReadonlyArray<Flag<unknown>>): ReadonlyArray<string> => {
  const heads = flags.map(
    ({ name, placeholder, short }) =>
      `${short === undefined ? "" : `-${short}, `}--${name}${placeholder === undefined ? "" : ` ${placeholder}`}`
  )
  const width = Math.max(...heads.map((head) => head.length))
  return flags.map(({ description }, index) => `  ${(heads[index] ?? "").padEnd(width)}  ${description}`)
}
