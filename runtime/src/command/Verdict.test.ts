import { describe, expect, test } from "bun:test"
import * as Exit from "effect/Exit"

import * as Output from "./Output.ts"
import * as Verb from "./Verb.ts"
import * as Verdict from "./Verdict.ts"

const interruption = Exit.interrupt()

describe("The verdict about a command", () => {
  test("of an interruption is a success only if the verb runs until a signal", () => {
    expect(Verdict.of(interruption)).toEqual({ code: 0 })
    for (const [signal, code] of [
      ["SIGINT", 130],
      ["SIGTERM", 143]
    ] as const) {
      const line = `ended by a signal (${signal})`
      expect(Verdict.of(interruption, Verdict.interrupted(signal))).toEqual({ code, line })
    }
    expect(Verdict.of(interruption, Verdict.interrupted(undefined))).toEqual({ code: 1, line: "interrupted" })
  })

  test("of a failure or a success does not depend on a signal", () => {
    const interrupted = Verdict.interrupted("SIGINT")
    expect(Verdict.of(Exit.void, interrupted)).toEqual({ code: 0 })
    expect(Verdict.of(Exit.fail(new Verb.Logged({ code: 2 })), interrupted)).toEqual({ code: 2 })
  })

  test("of output whose reader has ended is the code of SIGPIPE, without a line", () => {
    expect(Verdict.of(Exit.fail(new Output.NotRead()))).toEqual({ code: 141 })
  })
})
