/**
 * Log levels that can change while a program runs: one for the program, and optionally one per controller.
 *
 * Effect reads the minimum level of a fiber once. So these fibers have the minimum `All`, and their loggers compare each line with the
 * current level: a change affects all running fibers at once. Another minimum has precedence.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as FiberMap from "effect/FiberMap"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as References from "effect/References"
import type * as Scope from "effect/Scope"

/** The names of the levels, from the most verbose one. */
export const names = ["trace", "debug", "info", "warn", "error"] as const

/** The name of a level. */
export type Name = (typeof names)[number]

/** The levels by their names. */
export const byName: { readonly [name in Name]: LogLevel.LogLevel } = {
  trace: "Trace",
  debug: "Debug",
  info: "Info",
  warn: "Warn",
  error: "Error"
}

/** Whether the name is a level. */
export const isName = (text: string): text is Name => Object.hasOwn(byName, text)

/** The level that a user means: `warning` is `warn`. Undefined for another text. */
export const nameOf = (text: string): Name | undefined => {
  const name = text === "warning" ? "warn" : text
  return isName(name) ? name : undefined
}

/** A level that was set with `/loglevel`. */
export interface Setting {
  readonly level: Name
  /** When it expires, in milliseconds of the Clock; absent for never. */
  readonly until: number | undefined
}

/** The levels of a program. */
export interface Levels {
  /** The current level of a controller, or without an argument that outside of controllers. */
  readonly current: (controller?: string | undefined) => Name
  /** The level at the start of the program. */
  readonly initial: Name
  /** The current setting of a controller, or without an argument that of the program. */
  readonly setting: (controller?: string | undefined) => Setting | undefined
  /**
   * Sets a level, with a duration or until it is reset. It replaces the previous setting and its expiry.
   *
   * @param options.over runs when the setting expires, not if it ends otherwise
   */
  readonly set: (
    level: Name,
    options: {
      readonly controller?: string | undefined
      readonly during?: Duration.Duration | undefined
      readonly over?: Effect.Effect<void> | undefined
    }
  ) => Effect.Effect<void>
  /** Resets a controller to the initial level, or without an argument the program and all controllers. */
  readonly reset: (controller?: string | undefined) => Effect.Effect<void>
}

/** Levels that can change until the scope closes. */
export const make = (initial: Name): Effect.Effect<Levels, never, Scope.Scope> =>
  Effect.gen(function* () {
    const all = ""
    const settings = new Map<string, Setting>()
    const ends = yield* FiberMap.make<string>()
    const overall = () => settings.get(all)?.level ?? initial
    const end = (name: string) =>
      Effect.andThen(
        FiberMap.remove(ends, name),
        Effect.sync(() => void settings.delete(name))
      )
    return {
      initial,
      current: (controller = all) => settings.get(controller)?.level ?? overall(),
      setting: (controller = all) => settings.get(controller),
      set: (level, { controller = all, during, over = Effect.void }) =>
        Effect.gen(function* () {
          yield* end(controller)
          const clock = yield* Clock.Clock
          const until = during === undefined ? undefined : clock.currentTimeMillisUnsafe() + Duration.toMillis(during)
          settings.set(controller, { level, until })
          if (during !== undefined) {
            const ended = Effect.sync(() => void settings.delete(controller))
            yield* FiberMap.run(ends, controller, Effect.delay(Effect.andThen(ended, over), during))
          }
        }),
      reset: (controller) =>
        controller === undefined
          ? Effect.andThen(
              FiberMap.clear(ends),
              Effect.sync(() => settings.clear())
            )
          : end(controller)
    }
  })

/** The levels of the program, or `undefined` if they cannot change: then the minimum level of the fiber applies. */
export const LogLevels = Context.Reference("@homeostat/runtime/LogLevels", {
  defaultValue: (): Levels | undefined => undefined
})

/** The controller whose level applies to a fiber. */
const Controller = Context.Reference("@homeostat/runtime/LogLevels/Controller", {
  defaultValue: (): string | undefined => undefined
})

/** Whether a fiber logs lines of this level now. */
export const isLogged = (fiber: Fiber.Fiber<unknown, unknown>, level: LogLevel.LogLevel): boolean => {
  const { minimumLogLevel } = fiber.cache
  const levels = minimumLogLevel === "All" ? fiber.getRef(LogLevels) : undefined
  const minimum = levels === undefined ? minimumLogLevel : byName[levels.current(fiber.getRef(Controller))]
  return LogLevel.isGreaterThanOrEqualTo(level, minimum)
}

const following = <A>(logger: Logger.Logger<unknown, A>): Logger.Logger<unknown, A | undefined> =>
  Logger.make((line) => (isLogged(line.fiber, line.logLevel) ? logger.log(line) : undefined))

/** Runs an effect with these levels: its loggers skip the lines below the current level. */
export const provide = <A, E, R>(effect: Effect.Effect<A, E, R>, levels: Levels): Effect.Effect<A, E, R> =>
  Effect.flatMap(Logger.CurrentLoggers, (loggers) =>
    effect.pipe(
      Effect.provideService(Logger.CurrentLoggers, new Set(Array.from(loggers, following))),
      Effect.provideService(References.MinimumLogLevel, "All"),
      Effect.provideService(LogLevels, levels)
    )
  )

/** Runs an effect with the level of a controller. */
export const within = <A, E, R>(effect: Effect.Effect<A, E, R>, controller: string): Effect.Effect<A, E, R> =>
  Effect.flatMap(LogLevels, (levels) =>
    levels === undefined
      ? effect
      : effect.pipe(
          Effect.provideService(Controller, controller),
          Effect.provideService(References.MinimumLogLevel, "All")
        )
  )
