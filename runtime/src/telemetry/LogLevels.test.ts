import { describe, expect, test } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Logger from "effect/Logger"
import * as Queue from "effect/Queue"
import * as References from "effect/References"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import * as LogLevels from "./LogLevels.ts"

/** A logger with these levels, and its lines. */
const world = Effect.gen(function* () {
  const levels = yield* LogLevels.make("info")
  const lines: Array<string> = []
  const logger = Logger.make(({ message }) => void lines.push(String(message)))
  const logging = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.provide(LogLevels.provide(effect, levels), Logger.layer([logger]))
  /** The levels that are logged by a controller, or outside of one. */
  const logged = (controller?: string) =>
    Effect.gen(function* () {
      lines.length = 0
      const all = Effect.all([
        Effect.logTrace("trace"),
        Effect.logDebug("debug"),
        Effect.logInfo("info"),
        Effect.logWarning("warn"),
        Effect.logError("error")
      ])
      yield* logging(controller === undefined ? all : LogLevels.within(all, controller))
      return lines[0]
    })
  return { levels, lines, logged, logging }
})

describe("A log level", () => {
  effect("is the initial one until it is set, and after it is reset", () =>
    Effect.gen(function* () {
      const { levels, logged } = yield* world
      for (const name of LogLevels.names) {
        yield* levels.set(name, {})
        expect([yield* logged(), yield* logged("a")]).toEqual([name, name])
        expect(levels.setting()).toEqual({ level: name, until: undefined })
      }
      yield* levels.reset()
      expect([yield* logged(), yield* logged("a"), levels.setting()]).toEqual(["info", "info", undefined])
    })
  )

  effect("of a controller has precedence over the general one", () =>
    Effect.gen(function* () {
      const { levels, logged } = yield* world
      yield* levels.set("debug", { controller: "a" })
      expect([yield* logged("a"), yield* logged("b"), yield* logged()]).toEqual(["debug", "info", "info"])
      yield* levels.set("error", {})
      expect([yield* logged("a"), yield* logged("b"), yield* logged()]).toEqual(["debug", "error", "error"])
      yield* levels.reset("a")
      expect([yield* logged("a"), yield* logged()]).toEqual(["error", "error"])
      yield* levels.set("trace", { controller: "a" })
      yield* levels.reset()
      expect([yield* logged("a"), yield* logged()]).toEqual(["info", "info"])
    })
  )

  effect("applies at once to running fibers", () =>
    Effect.gen(function* () {
      const { levels, lines, logging } = yield* world
      const words = yield* Queue.unbounded<string>()
      let heard = 0
      const loop = Effect.forever(
        Effect.andThen(
          Effect.flatMap(Queue.take(words), (word) => Effect.logDebug(word)),
          Effect.sync(() => heard++)
        )
      )
      yield* Effect.forkScoped(logging(LogLevels.within(loop, "a")))
      const logWord = (word: string) =>
        Effect.suspend(() => {
          const before = heard
          return Effect.andThen(
            Queue.offer(words, word),
            Effect.repeat(Effect.yieldNow, { until: () => heard > before })
          )
        })
      yield* logWord("before")
      yield* levels.set("debug", { controller: "a" })
      yield* logWord("while")
      yield* levels.reset("a")
      yield* logWord("after")
      expect(lines).toEqual(["while"])
    })
  )

  effect("with a duration expires, unless it was set again", () =>
    Effect.gen(function* () {
      const { levels, logged } = yield* world
      yield* levels.set("warn", { controller: "a" })
      yield* levels.set("debug", { controller: "a", during: Duration.minutes(10) })
      expect(levels.setting("a")).toEqual({ level: "debug", until: 600_000 })
      yield* TestClock.adjust("599 seconds")
      expect(yield* logged("a")).toBe("debug")
      yield* TestClock.adjust("1 second")
      expect([yield* logged("a"), levels.setting("a")]).toEqual(["info", undefined])
      yield* levels.set("debug", { during: Duration.minutes(10) })
      yield* levels.set("trace", {})
      yield* TestClock.adjust("1 hour")
      expect(yield* logged()).toBe("trace")
      yield* levels.set("debug", { during: Duration.minutes(10) })
      yield* levels.reset()
      yield* levels.set("error", { during: Duration.minutes(20) })
      yield* TestClock.adjust("10 minutes")
      expect(yield* logged()).toBe("error")
    })
  )

  effect("can be compared before a line is built", () =>
    Effect.gen(function* () {
      const { levels, logging } = yield* world
      const isMade = logging(
        LogLevels.within(
          Effect.withFiberSucceed((fiber) => LogLevels.isLogged(fiber, "Debug")),
          "a"
        )
      )
      expect(yield* isMade).toBe(false)
      yield* levels.set("debug", { controller: "a" })
      expect(yield* isMade).toBe(true)
    })
  )

  effect("does not change a minimum level of None", () =>
    Effect.gen(function* () {
      const level = LogLevels.within(References.MinimumLogLevel, "a")
      expect(yield* Effect.provideService(level, References.MinimumLogLevel, "None")).toBe("None")
    })
  )

  effect("does not delay the end of its scope by a timer", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const levels = yield* Scope.provide(LogLevels.make("info"), scope)
      yield* levels.set("debug", { during: Duration.hours(1) })
      const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void))
      yield* Fiber.join(closing)
    })
  )
})

test("is valid only by its lower-case name", () => {
  for (const name of LogLevels.names) expect(LogLevels.isName(name)).toBe(true)
  for (const name of ["", "none", "all", "toString", "INFO"]) expect(LogLevels.isName(name)).toBe(false)
})
