import { describe, expect } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"
import { capture } from "../controller/World.fixture.ts"
import * as Callers from "../manager/Callers.ts"
import * as Endpoints from "../manager/Endpoints.ts"
import * as LogLevels from "../telemetry/LogLevels.ts"
import * as LogLevelPage from "./LogLevelPage.ts"

interface Route {
  readonly path: string
  readonly handler: Endpoints.Handler
  readonly methods: ReadonlyArray<string> | undefined
}

/** The page of a program with two controllers, behind a guard that admits every request or none. */
const world = (mayAsk = true) =>
  Effect.gen(function* () {
    const levels = yield* LogLevels.make("info")
    const routes: Array<Route> = []
    let loopback: boolean | undefined
    yield* LogLevelPage.serve(levels, ["webapp", "backup"]).pipe(
      Effect.provideService(Endpoints.Endpoints, {
        addresses: {},
        route: (_port, path, handler, options) =>
          Effect.sync(() => void routes.push({ path, handler, methods: options?.methods }))
      }),
      Effect.provideService(Callers.Callers, {
        guarded: (handler, options) => {
          loopback = options.loopback
          return mayAsk ? handler : () => Effect.succeed(Endpoints.text(401, "no"))
        }
      })
    )
    const ask = (method: string, query = "") =>
      Effect.gen(function* () {
        const handler = routes[0]?.handler
        if (handler === undefined) return yield* Effect.die(new Error("there is no route"))
        const request = new Request(`http://localhost/loglevel${query}`, { method })
        const response = yield* handler(request, { address: "127.0.0.1" })
        return { status: response.status, body: (yield* Effect.promise(() => response.text())).trimEnd() }
      })
    return { levels, routes, ask, loopback }
  })

const started = "all: info\ncontroller=webapp: as above\ncontroller=backup: as above"

describe("the page of log levels", () => {
  effect("shows the level of the program and of each controller", () =>
    Effect.gen(function* () {
      const { ask, loopback, routes } = yield* world()
      expect(routes).toMatchObject([{ path: "/loglevel", methods: ["GET", "HEAD", "PUT", "POST", "DELETE"] }])
      expect(loopback).toBe(true)
      expect(yield* ask("GET")).toEqual({ status: 200, body: started })
    })
  )

  effect("sets the level of the program or of a controller until it is reset, and logs that", () => {
    const logs: Array<string> = []
    return Effect.gen(function* () {
      const { ask } = yield* world()
      expect((yield* ask("PUT", "?level=warning")).body).toStartWith("all: warn, started with info\n")
      expect((yield* ask("POST", "?level=debug&controller=webapp")).body).toBe(
        "all: warn, started with info\ncontroller=webapp: debug\ncontroller=backup: as above"
      )
      expect((yield* ask("DELETE", "?controller=webapp")).body).toBe(
        "all: warn, started with info\ncontroller=webapp: as above\ncontroller=backup: as above"
      )
      expect((yield* ask("PUT", "?level=default")).body).toBe(started)
      yield* ask("PUT", "?level=debug&controller=webapp")
      expect((yield* ask("DELETE")).body).toBe(started)
      expect(logs).toEqual([
        "INFO The log level of everything is warn",
        "INFO The log level of controller webapp is debug",
        "INFO The log level of controller webapp is reset",
        "INFO The log level of everything is reset",
        "INFO The log level of controller webapp is debug",
        "INFO The log level of everything is reset"
      ])
    }).pipe(Effect.provide(capture(logs)))
  })

  effect("sets a level for a time, and shows how much of it is left", () => {
    const logs: Array<string> = []
    return Effect.gen(function* () {
      const { ask } = yield* world()
      const { body } = yield* ask("PUT", "?level=debug&controller=webapp&for=10m")
      expect(body).toContain("controller=webapp: debug until 1970-01-01T00:10:00.000Z (10m)")
      expect(logs).toEqual(["INFO The log level of controller webapp is debug for 10m"])
      yield* TestClock.adjust("90 seconds")
      expect((yield* ask("GET")).body).toContain("(8m 30s)")
      yield* TestClock.adjust("510 seconds")
      expect((yield* ask("GET")).body).toBe(started)
      expect(logs.slice(1)).toEqual(["INFO The log level of controller webapp has expired and is reset"])
    }).pipe(Effect.provide(capture(logs)))
  })

  effect("reports an expired level, but not one that was reset before", () => {
    const logs: Array<string> = []
    return Effect.gen(function* () {
      const { ask } = yield* world()
      yield* ask("PUT", "?level=debug&for=10m")
      yield* ask("PUT", "?level=trace&for=20m")
      yield* ask("DELETE")
      yield* TestClock.adjust("1 hour")
      expect(logs).toEqual([
        "INFO The log level of everything is debug for 10m",
        "INFO The log level of everything is trace for 20m",
        "INFO The log level of everything is reset"
      ])
    }).pipe(Effect.provide(capture(logs)))
  })

  effect("logs the new level at any level before and after", () => {
    const logs: Array<string> = []
    return Effect.gen(function* () {
      const { ask, levels } = yield* world()
      yield* Effect.gen(function* () {
        yield* ask("PUT", "?level=error")
        yield* ask("PUT", "?level=warning&for=1m")
        yield* Effect.logInfo("hidden")
        yield* TestClock.adjust("1 minute")
        yield* ask("PUT", "?level=error&controller=webapp")
      }).pipe((changes) => LogLevels.provide(changes, levels))
      expect(logs).toEqual([
        "INFO The log level of everything is error",
        "INFO The log level of everything is warn for 1m",
        "INFO The log level of everything has expired and is reset",
        "INFO The log level of controller webapp is error"
      ])
    }).pipe(Effect.provide(capture(logs)))
  })

  for (const [query, message] of [
    ["", 'level: invalid value: "" (must be one of trace, debug, info, warn, error, default)'],
    ["?level=loud", 'level: invalid value: "loud" (must be one of trace, debug, info, warn, error, default)'],
    ["?level=debug&controller=web", 'controller: invalid value: "web" (must be one of webapp, backup)'],
    ["?level=debug&for=long", 'for: invalid duration: "long" (write it like 15s, 1m30s or 10h)'],
    ["?level=debug&for=0s", 'for: invalid duration: "0s" (must be at least 1s)'],
    ["?level=debug&for=25h", 'for: invalid duration: "25h" (must be at most 24h)'],
    ["?level=debug&form=10m", "unknown parameter: form (must be one of level, controller, for)"]
  ] as const) {
    effect(`rejects ${query || "an empty query"} with the reason, and changes nothing`, () =>
      Effect.gen(function* () {
        const { ask } = yield* world()
        expect(yield* ask("PUT", query)).toEqual({ status: 400, body: message })
        expect((yield* ask("GET")).body).toBe(started)
      })
    )
  }

  effect("rejects unauthorized requests", () =>
    Effect.gen(function* () {
      const { ask, levels } = yield* world(false)
      expect((yield* ask("PUT", "?level=debug")).status).toBe(401)
      expect(levels.setting()).toBeUndefined()
    })
  )
})
