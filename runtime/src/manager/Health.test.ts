import { describe, expect } from "bun:test"
import { live } from "@homeostat/testkit/Test"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as Endpoints from "./Endpoints.ts"
import * as Health from "./Health.ts"

/** Checks, and a probe that returns status and text. */
const probed = Effect.gen(function* () {
  const endpoints = yield* Endpoints.make({ metrics: undefined, probes: { hostname: "127.0.0.1", port: 0 } })
  const health = yield* Effect.provideService(Health.make, Endpoints.Endpoints, endpoints)
  const get = (path: string) =>
    Effect.promise(async () => {
      const response = await fetch(`http://${endpoints.addresses.probes}${path}`)
      return `${response.status} ${await response.text()}`
    })
  return { ...health, get }
})

describe("/healthz", () => {
  live("is healthy from the start until the end of the process", () =>
    Effect.gen(function* () {
      const { get, shutDown, started } = yield* probed
      expect(yield* get("/healthz")).toBe("200 ok\n")
      yield* started
      yield* shutDown
      expect(yield* get("/healthz")).toBe("200 ok\n")
    })
  )

  live("is unhealthy if a liveness check fails, independent of readiness", () =>
    Effect.gen(function* () {
      const { get, liveness, started } = yield* probed
      yield* started
      yield* liveness("loop", Effect.fail("stuck for 3 minutes"))
      expect(yield* get("/healthz")).toBe("500 [+]ping ok\n[-]loop failed: stuck for 3 minutes\nhealthz check failed\n")
      expect(yield* get("/readyz")).toBe("200 ok\n")
    })
  )
})

describe("/readyz", () => {
  live("is ready between the start of the controllers and the shutdown", () =>
    Effect.gen(function* () {
      const { get, shutDown, started } = yield* probed
      expect(yield* get("/readyz")).toBe(
        "500 [+]ping ok\n[-]startup failed: the controllers are not started yet\n[+]shutdown ok\nreadyz check failed\n"
      )
      yield* started
      expect(yield* get("/readyz")).toBe("200 ok\n")
      yield* shutDown
      expect(yield* get("/readyz")).toBe(
        "500 [+]ping ok\n[+]startup ok\n[-]shutdown failed: the process is shutting down\nreadyz check failed\n"
      )
      yield* started
      expect(yield* get("/readyz")).toStartWith("500 ")
    })
  )

  live("runs each check for each request, and reports failures in one line", () =>
    Effect.gen(function* () {
      const { get, readiness, started } = yield* probed
      yield* started
      let reason: string | undefined = "no list of pods:\n   403"
      yield* readiness(
        "cache-pods",
        Effect.suspend(() => (reason === undefined ? Effect.void : Effect.fail(reason)))
      )
      expect(yield* get("/readyz")).toContain("\n[-]cache-pods failed: no list of pods: 403\n")
      reason = undefined
      expect(yield* get("/readyz")).toBe("200 ok\n")
    })
  )

  live("lists every check with verbose", () =>
    Effect.gen(function* () {
      const { get, started } = yield* probed
      yield* started
      expect(yield* get("/readyz?verbose")).toBe("200 [+]ping ok\n[+]startup ok\n[+]shutdown ok\nreadyz check passed\n")
    })
  )

  live("accepts functions and effects as checks in order, and a throwing one as failed", () =>
    Effect.gen(function* () {
      const { get, readiness, started } = yield* probed
      yield* started
      let reason: string | undefined = "no\nroom"
      yield* readiness("room", () => reason)
      yield* readiness("slow", Effect.delay(Effect.fail("not yet"), "10 millis"))
      yield* readiness("odd", () => {
        throw new Error("odd")
      })
      const checks = (room: string) =>
        `500 [+]ping ok\n[+]startup ok\n[+]shutdown ok\n${room}\n[-]slow failed: not yet\n[-]odd failed: Error: odd\nreadyz check failed\n`
      expect(yield* get("/readyz")).toBe(checks("[-]room failed: no room"))
      expect(yield* get("/readyz/room")).toBe("500 no room\n")
      reason = undefined
      expect(yield* get("/readyz")).toBe(checks("[+]room ok"))
      expect(yield* get("/readyz?exclude=slow,odd")).toBe("200 ok\n")
    })
  )

  live("omits excluded checks, and reports unknown ones", () =>
    Effect.gen(function* () {
      const { get, readiness, started } = yield* probed
      yield* started
      yield* readiness("a", Effect.fail("broken"))
      yield* readiness("b", Effect.fail("broken"))
      expect(yield* get("/readyz?exclude=a&exclude=b")).toBe("200 ok\n")
      expect(yield* get("/readyz?exclude=a")).toContain("[+]a excluded: ok\n[-]b failed: broken\n")
      expect(yield* get("/readyz?exclude=a&exclude=b&exclude=c&verbose")).toEndWith(
        "[+]b excluded: ok\nwarn: nothing to exclude: there is no check c\nreadyz check passed\n"
      )
    })
  )

  live("limits the number of excluded names, and the part of each that it repeats", () =>
    Effect.gen(function* () {
      const { get, started } = yield* probed
      yield* started
      const names = (count: number) => Array.from({ length: count }, (_, at) => `n${at}`).join(",")
      const long = "x".repeat(10_000)
      for (const [query, answer] of [
        [`verbose&exclude=${names(32)}`, "200 "],
        [`verbose&exclude=${names(33)}`, "400 too many excluded checks: 33 (at most 32)\n"],
        [`exclude=${names(30)}&exclude=a,b,c`, "400 too many excluded checks: 33 (at most 32)\n"],
        [`verbose&exclude=${"ping,".repeat(1000)}`, "200 [+]ping excluded: ok\n"]
      ] as const) {
        expect(yield* get(`/readyz?${query}`)).toStartWith(answer)
      }
      expect(yield* get(`/readyz?verbose&exclude=${long}`)).toContain(`there is no check ${"x".repeat(256)}…\n`)
      expect(yield* get(`/readyz/${long}`)).toStartWith(`404 unknown check: ${"x".repeat(256)}… (`)
    })
  )

  live("has a path for each check", () =>
    Effect.gen(function* () {
      const { get, readiness } = yield* probed
      yield* readiness("cache-widgets.example.com", Effect.fail("no such kind"))
      expect(yield* get("/readyz/ping")).toBe("200 ok\n")
      expect(yield* get("/readyz/cache-widgets.example.com")).toBe("500 no such kind\n")
      expect(yield* get("/readyz/other")).toBe(
        "404 unknown check: other (must be one of ping, startup, shutdown, cache-widgets.example.com)\n"
      )
      expect(yield* get("/readyz/%ff")).toStartWith("404 ")
    })
  )

  live("counts a check that dies or does not end as failed", () =>
    Effect.gen(function* () {
      const { get, readiness, started } = yield* probed
      yield* started
      yield* readiness("dead", Effect.die(new Error("boom")))
      yield* readiness("slow", Effect.never)
      const page = yield* get("/readyz")
      expect(page).toContain("[-]dead failed: Error: boom\n")
      expect(page).toContain("[-]slow failed: no result within 900 millis\n")
    })
  )

  live("keeps a check that replaced one with the same name when the scope of the first one closes", () =>
    Effect.gen(function* () {
      const { get, readiness } = yield* probed
      const first = yield* Scope.make()
      yield* Scope.provide(readiness("a", Effect.fail("the first")), first)
      yield* readiness("a", Effect.fail("the second"))
      yield* Scope.close(first, Exit.void)
      expect(yield* get("/readyz/a")).toBe("500 the second\n")
    })
  )

  live("removes a check when its scope closes", () =>
    Effect.gen(function* () {
      const { get, readiness, started } = yield* probed
      yield* started
      yield* Effect.scoped(readiness("a", Effect.fail("broken")))
      expect(yield* get("/readyz")).toBe("200 ok\n")
    })
  )
})
