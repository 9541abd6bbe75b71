/**
 * Settings of a program's controllers: environment variables that apply to all objects of a kind. `run --help` lists them. `run` reads
 * them first, and fails on an invalid one.
 */
import * as Config from "effect/Config"
import * as ConfigError from "effect/ConfigError"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Help from "./Help.ts"

/** A setting whose value is an A. */
export interface Setting<out A> {
  /** The environment variable: `HOMEOSTAT_BACKUP_MAX_JOBS`. */
  readonly variable: string
  /** The effect and the default, in one line. */
  readonly description: string
  readonly config: Config.Config<A>
}

/** Settings by the program's names for them. */
export interface Settings {
  readonly [key: string]: Setting<unknown>
}

/** The values that {@link read} returns. */
export type Values<S extends Settings> = { readonly [K in keyof S]: S[K] extends Setting<infer A> ? A : never }

/** A variable is invalid. The message is one line with its name and the accepted values. */
export class InvalidSetting extends Data.TaggedError("InvalidSetting")<{ readonly message: string }> {}

/** A setting. An empty variable counts as not set. */
export const make = <A>(
  variable: string,
  options: {
    readonly description: string
    /** The default, as text. */
    readonly otherwise: string
    /** Left: a message with the accepted values. */
    readonly parse: (text: string) => Either.Either<A, string>
  }
): Setting<A> => ({
  variable,
  description: `${options.description} (default ${options.otherwise})`,
  config: Config.string(variable).pipe(
    Config.withDefault(""),
    Config.mapOrFail((text) =>
      Either.mapLeft(options.parse(text === "" ? options.otherwise : text), (message) =>
        ConfigError.InvalidData([], message)
      )
    )
  )
})

/** The values of settings. Fails on the first invalid one. */
export const read = <S extends Settings>(settings: S): Effect.Effect<Values<S>, InvalidSetting> =>
  Effect.map(
    Effect.forEach(Object.entries(settings), ([key, { config, variable }]) =>
      Effect.mapBoth(config, {
        onFailure: (error) => new InvalidSetting({ message: `${variable}: ${messageOf(error)}` }),
        onSuccess: (value) => [key, value] as const
      })
    ),
    // The compiler cannot infer the type of each key in a loop.
    (values) => Object.fromEntries(values) as Values<S>
  )

const messageOf = (error: ConfigError.ConfigError): string =>
  ConfigError.isAnd(error) || ConfigError.isOr(error) ? messageOf(error.left) : error.message

/** The settings as lines of help: see {@link Help.columns}. */
export const describe = (settings: Settings, width: number): ReadonlyArray<string> =>
  Help.columns(
    Object.values(settings).map(({ description, variable }) => [variable, description]),
    width
  )
