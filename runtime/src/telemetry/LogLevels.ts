/**
 * How much is logged, as it can be changed while a program runs: one level for all, and for a controller one of its own.
 *
 * A level here is a `LogLevel` whose rank is read at each comparison. Fibers are given it once, as the least level that they log
 * (`Logger.minimumLogLevel`), and a change holds for all that run already, at once and wherever they are. A line costs what it
 * always costs: the comparison.
 */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FiberMap from "effect/FiberMap"
import * as FiberRef from "effect/FiberRef"
import * as LogLevel from "effect/LogLevel"
import type * as Scope from "effect/Scope"

/** The names of the levels, from the most verbose one. */
export const names = ["trace", "debug", "info", "warning", "error"] as const

/** The name of a level. */
export type Name = (typeof names)[number]

/** The levels by their names. */
export const byName: { readonly [name in Name]: LogLevel.LogLevel } = {
  trace: LogLevel.Trace,
  debug: LogLevel.Debug,
  info: LogLevel.Info,
  warning: LogLevel.Warning,
  error: LogLevel.Error
}

/** Whether there is a level of that name. */
export const isName = (text: string): text is Name => Object.hasOwn(byName, text)

/** A level that was set with `/loglevel`. */
export interface Setting {
  readonly level: Name
  /** When it ends by itself, in milliseconds of the Clock; never, without one. */
  readonly until: number | undefined
}

/** The levels of a program. */
export interface Levels {
  /** What is logged outside of controllers, and by those that have no level of their own: follows what is set. */
  readonly level: LogLevel.LogLevel
  /** What a controller logs: follows what is set. */
  readonly of: (controller: string) => LogLevel.LogLevel
  /** What the program was started with. */
  readonly initial: Name
  /** What is set now: of a controller, or without one of all that have none of their own. */
  readonly setting: (controller?: string | undefined) => Setting | undefined
  /**
   * Sets a level, for a while or until it is reset. It takes the place of the one before, and of its end.
   *
   * @param options.over runs when its while is over, not if it ends otherwise
   */
  readonly set: (
    level: Name,
    options: {
      readonly controller?: string | undefined
      readonly during?: Duration.Duration | undefined
      readonly over?: Effect.Effect<void> | undefined
    }
  ) => Effect.Effect<void>
  /** Back to how it was started: for a controller, or without one for all and every controller. */
  readonly reset: (controller?: string | undefined) => Effect.Effect<void>
}

/** A level whose rank is another's, as it is at the time. */
const following = (current: () => Name): LogLevel.LogLevel => ({
  ...LogLevel.Info,
  get ordinal() {
    return byName[current()].ordinal
  }
})

/** Levels that can be changed, as long as the scope. */
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

/** The levels of the program, or `undefined` where they can't be changed: then whatever the fiber has holds. */
export class LogLevels extends Context.Reference<LogLevels>()("@homeostat/runtime/LogLevels", {
  defaultValue: (): Levels | undefined => undefined
}) {}

/** Has an effect log what the controller is set to log. */
export const within = <A, E, R>(effect: Effect.Effect<A, E, R>, controller: string): Effect.Effect<A, E, R> =>
  Effect.flatMap(LogLevels, (levels) =>
    levels === undefined ? effect : Effect.locally(effect, FiberRef.currentMinimumLogLevel, levels.of(controller))
  )
