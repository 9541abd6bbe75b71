/**
 * Settings of a program's controllers: environment variables that apply to all objects of a kind. `run --help` lists them. `run` reads
 * them first, and fails on an invalid one.
 */
import * as ConfigProvider from "effect/ConfigProvider"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import type * as Result from "effect/Result"
import * as Help from "./Help.ts"

/** A setting whose value is an A. */
export interface Setting<out A> {
  /** The environment variable: `HOMEOSTAT_BACKUP_MAX_JOBS`. */
  readonly variable: string
  /** The effect and the default, in one line. */
  readonly description: string
  /** Parses the text of the variable; an empty one means the default. The failure: a message with the accepted values. */
  readonly parse: (text: string) => Result.Result<A, string>
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
    /** The failure: a message with the accepted values. */
    readonly parse: (text: string) => Result.Result<A, string>
  }
): Setting<A> => ({
  variable,
  description: `${options.description} (default ${options.otherwise})`,
  parse: (text) => options.parse(text === "" ? options.otherwise : text)
})

/** The values of settings. Fails on the first invalid one. */
export const read = <S extends Settings>(settings: S): Effect.Effect<Values<S>, InvalidSetting> =>
  Effect.gen(function* () {
    const provider = yield* ConfigProvider.ConfigProvider
    const values: { [key: string]: unknown } = {}
    for (const [key, { parse, variable }] of Object.entries(settings)) {
      values[key] = yield* provider.load([variable]).pipe(
        Effect.mapError(({ message }) => message),
        Effect.flatMap((node) => Effect.fromResult(parse(node?.value ?? ""))),
        Effect.mapError((message) => new InvalidSetting({ message: `${variable}: ${message}` }))
      )
    }
    // The compiler cannot infer the type of each key in a loop.
    return values as Values<S>
  })

/** The settings as lines of help: see {@link Help.columns}. */
export const describe = (settings: Settings, width: number): ReadonlyArray<string> =>
  Help.columns(
    Object.values(settings).map(({ description, variable }) => [variable, description]),
    width
  )
