import { expect } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as TestClock from "effect/testing/TestClock"
import * as RateLimitedLog from "./RateLimitedLog.ts"

effect("RateLimitedLog logs one line a minute, with the number of suppressed lines", () =>
  Effect.gen(function* () {
    const lines: Array<unknown> = []
    const logger = Logger.make(({ message }) => void lines.push(message))
    yield* Effect.gen(function* () {
      const log = yield* RateLimitedLog.make
      for (let second = 0; second < 150; second++) {
        log(`trouble ${second}`)
        yield* TestClock.adjust("1 second")
      }
    }).pipe(Effect.provide(Logger.layer([logger])))
    expect(lines.flat()).toEqual([
      "trouble 0",
      "trouble 60 (and 59 more since the last such line)",
      "trouble 120 (and 59 more since the last such line)"
    ])
  })
)
