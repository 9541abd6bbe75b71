/**
 * Log levels that can change while a program runs: one for the program, and optionally one per controller.
 *
 * A level here is a `LogLevel` whose rank is computed at each comparison. Fibers get it once, as their minimum
 * (`Logger.minimumLogLevel`), and a change affects all running fibers at once. A skipped line costs only the comparison.
 */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FiberMap from "effect/FiberMap"
import * as FiberRef from "effect/FiberRef"
import * as LogLevel from "effect/LogLevel"
import type * as Scope from "effect/Scope"

/** The names of the levels, from the most verbose one. */
export const names = ["trace", "debug", "info", "warn", "error"] as const

/** The name of a level. */
export type Name = (typeof names)[number]

/** The levels by their names. */
export const byName: { readonly [name in Name]: LogLevel.LogLevel } = {
  trace: LogLevel.Trace,
  debug: LogLevel.Debug,
  info: LogLevel.Info,
  warn: LogLevel.Warning,
  error: LogLevel.Error
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
  /** The level outside of controllers, and of controllers without their own level. Follows changes. */
  readonly level: LogLevel.LogLevel
  /** The level of a controller. Follows changes. */
  readonly of: (controller: string) => LogLevel.LogLevel
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

/** A level with the current rank of another one. */
const following = (current: () => Name): LogLevel.LogLevel => ({
  ...LogLevel.Info,
  get ordinal() {
    return byName[current()].ordinal
  }
})

/** Levels that can change until the scope closes. */
export const make = (initial: Name): Effect.Effect<Levels, never, Scope.Scope> =>
  Effect.gen(function* () {
    const all = ""
    const settings = new Map<string, Setting>()
    const ends = yield* FiberMap.make<string>()
    const overall = () => settings.get(all)?.level ?? initial
    const levels = new Map<string, LogLevel.LogLevel>()
    const end = (name: string) =>
      Effect.zipRight(
        FiberMap.remove(ends, name),
        Effect.sync(() => void settings.delete(name))
      )
    return {
      initial,
      level: following(overall),
      of: (controller) => {
        const before = levels.get(controller)
        if (before !== undefined) return before
        const level = following(() => settings.get(controller)?.level ?? overall())
        levels.set(controller, level)
        return level
      },
      setting: (controller = all) => settings.get(controller),
      set: (level, { controller = all, during, over = Effect.void }) =>
        Effect.gen(function* () {
          yield* end(controller)
          const clock = yield* Effect.clock
          const until = during === undefined ? undefined : clock.unsafeCurrentTimeMillis() + Duration.toMillis(during)
          settings.set(controller, { level, until })
          if (during !== undefined) {
            const ended = Effect.sync(() => void settings.delete(controller))
            yield* FiberMap.run(ends, controller, Effect.delay(Effect.zipRight(ended, over), during))
          }
        }),
      reset: (controller) =>
        controller === undefined
          ? Effect.zipRight(
              FiberMap.clear(ends),
              Effect.sync(() => settings.clear())
            )
          : end(controller)
    }
  })

/** The levels of the program, or `undefined` if they cannot change: then the minimum level of the fiber applies. */
export class LogLevels extends Context.Reference<LogLevels>()("@homeostat/runtime/LogLevels", {
  defaultValue: (): Levels | undefined => undefined
}) {}

/** Runs an effect with the level of a controller. */
export const within = <A, E, R>(effect: Effect.Effect<A, E, R>, controller: string): Effect.Effect<A, E, R> =>
  Effect.flatMap(LogLevels, (levels) =>
    levels === undefined ? effect : Effect.locally(effect, FiberRef.currentMinimumLogLevel, levels.of(controller))
  )
