import { describe, expect } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as Result from "effect/Result"
import * as Environment from "./Environment.ts"

/** The error or the warnings of `run` for these variables. */
const runWith = (environment: { [name: string]: string }, program = "homeostat") => {
  const lines: Array<unknown> = []
  const keeping = Logger.layer([Logger.make(({ message }) => void lines.push(...[message].flat()))])
  return Effect.andThen(Environment.check(program, environment), Environment.settle(program, environment)).pipe(
    Effect.provide(keeping),
    Effect.result,
    Effect.map(Result.match({ onFailure: ({ message }) => message, onSuccess: () => lines }))
  )
}

describe("A variable that Bun reads", () => {
  const refused: ReadonlyArray<readonly [string, string, string]> = [
    ["BUN_CONFIG_VERBOSE_FETCH", "curl", "it prints every request with its credentials"],
    ["BUN_INSPECT", "ws://0.0.0.0:6499/x", "it opens a debugger"],
    ["BUN_INSPECT_CONNECT_TO", "127.0.0.1:1", "it opens a debugger"],
    ["BUN_OPTIONS", "--preload /tmp/x.js", "it adds options of Bun, such as a module to load"]
  ]
  for (const [name, value, what] of refused) {
    effect(`and that run rejects, ${name}, passes if it is allowed or empty`, () =>
      Effect.gen(function* () {
        expect(yield* runWith({ [name]: value })).toBe(
          `forbidden environment variable: ${name} (${what}; unset it, or set HOMEOSTAT_ALLOW_DEBUG=1)`
        )
        expect(yield* runWith({ [name]: value, HOMEOSTAT_ALLOW_DEBUG: "1" })).toEqual([
          `${name} is set, and HOMEOSTAT_ALLOW_DEBUG=1 allows it: ${what}`
        ])
        expect(yield* runWith({ [name]: "" })).toEqual([])
        expect(yield* runWith({ [name]: value }, "sites")).toContain("or set SITES_ALLOW_DEBUG=1)")
        expect(yield* runWith({ [name]: value, SITES_ALLOW_DEBUG: "1" }, "sites")).toHaveLength(1)
      })
    )
  }

  effect("to turn off the verification of certificates has no effect, with a warning", () =>
    Effect.gen(function* () {
      const environment = { NODE_TLS_REJECT_UNAUTHORIZED: "0" }
      expect(yield* runWith(environment)).toEqual([
        "NODE_TLS_REJECT_UNAUTHORIZED=0 has no effect: certificates are verified. Remove it"
      ])
      expect(environment.NODE_TLS_REJECT_UNAUTHORIZED).toBe("1")
    })
  )

  effect("and that is harmless passes without a message", () =>
    Effect.gen(function* () {
      for (const name of [
        "BUN_CONFIG_MAX_HTTP_REQUESTS",
        "BUN_JSC_forceRAMSize",
        "NODE_EXTRA_CA_CERTS",
        "BUN_TMPDIR"
      ]) {
        expect(yield* runWith({ [name]: "1" })).toEqual([])
      }
      expect(yield* runWith({ NODE_TLS_REJECT_UNAUTHORIZED: "1" })).toEqual([])
    })
  )
})
