/**
 * Settings of a program's controllers: environment variables beside those of its flags, for what concerns all objects of a kind.
 * They are listed by `run --help`, and read before anything is opened: a wrong one ends the start.
 */
import * as Config from "effect/Config"
import * as ConfigError from "effect/ConfigError"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"

/** A setting whose value is an A. */
export interface Setting<out A> {
  /** The environment variable: `HOMEOSTAT_BACKUP_MAX_JOBS`. */
  readonly variable: string
  /** What it sets, in one line, with the default. */
  readonly description: string
  readonly config: Config.Config<A>
}

/** Settings by what the program calls them. */
export interface Settings {
  readonly [key: string]: Setting<unknown>
}

/** What {@link read} makes of settings. */
export type Values<S extends Settings> = { readonly [K in keyof S]: S[K] extends Setting<infer A> ? A : never }

/** A variable is not as it should be. The message is one line that names it and says what is accepted. */
export class InvalidSetting extends Data.TaggedError("InvalidSetting")<{ readonly message: string }> {}

/** A setting. A variable that is empty counts as not set. */
export const make = <A>(
  variable: string,
  options: {
    readonly description: string
    /** What holds where it is not set, as it would be written. */
    readonly otherwise: string
    /** A refusal says what is accepted. */
    readonly parse: (text: string) => Either.Either<A, string>
  }
): Setting<A> => ({
  variable,
  description: `${options.description}; default ${options.otherwise}`,
  config: Config.string(variable).pipe(
    Config.withDefault(""),
    Config.mapOrFail((text) =>
      Either.mapLeft(options.parse(text === "" ? options.otherwise : text), (message) =>
        ConfigError.InvalidData([], message)
      )
    )
  )
})

/** The values of settings, or the first of them that is wrong. */
export const read = <S extends Settings>(settings: S): Effect.Effect<Values<S>, InvalidSetting> =>
  Effect.map(
    Effect.forEach(Object.entries(settings), ([key, { config, variable }]) =>
      Effect.mapBoth(config, {
        onFailure: (error) => new InvalidSetting({ message: `${variable}: ${messageOf(error)}` }),
        onSuccess: (value) => [key, value] as const
      })
    ),
    // Every key of S was read by the setting under it, which the compiler can't follow through a loop.
    (values) => Object.fromEntries(values) as Values<S>
  )

const messageOf = (error: ConfigError.ConfigError): string =>
  ConfigError.isAnd(error) || ConfigError.isOr(error) ? messageOf(error.left) : error.message

/** The settings as lines of help. */
export const describe = (settings: Settings): ReadonlyArray<string> => {
  const all = Object.values(settings)
  const width = Math.max(...all.map(({ variable }) => variable.length))
  return all.map(({ description, variable }) => `  ${variable.padEnd(width)}  ${description}`)
}
