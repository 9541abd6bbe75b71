/**
 * Prints what a failed test does not say itself: the last attempts of the controllers, and the last warnings of the log.
 *
 * @internal
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Console from "effect/Console"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import type * as LogLevel from "effect/LogLevel"
import * as Eventually from "./Eventually.ts"

/** The minimum level of the log of a test that does not choose one. */
export const quiet = Context.Reference<LogLevel.LogLevel>("@homeostat/testkit/quiet", { defaultValue: () => "None" })

/** The most warnings in a report. */
const most = 20

/** The report of one test. */
export interface FailureReport {
  /** Keeps the last warnings of a test without a log. */
  readonly layer: Layer.Layer<never>
  /** Prints the report if the body fails. */
  readonly of: <A, E, R>(body: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}

/** A report without warnings. */
export const make = (): FailureReport => {
  const warnings: Array<string> = []
  const logger = Logger.make<unknown, void>(({ logLevel, message }) => {
    const words = (Array.isArray(message) ? message : [message]).map((each) =>
      typeof each === "string" ? each : String(each)
    )
    warnings.push(`${logLevel.toUpperCase()} ${words.join(" ")}`)
    if (warnings.length > most) warnings.shift()
  })
  const report = (cause: Cause.Cause<unknown>) =>
    Effect.gen(function* () {
      const describe = yield* Eventually.attempts
      // Its message has the attempts.
      const attempts =
        Cause.squash(cause) instanceof Eventually.NotSo ? "" : describe(undefined, yield* Clock.currentTimeMillis)
      const logged = warnings.length === 0 ? "" : `Last warnings:\n${warnings.map((line) => `  ${line}`).join("\n")}`
      const text = [attempts, logged].filter((each) => each !== "").join("\n")
      if (text !== "") yield* Console.error(text)
    })
  return {
    layer: Layer.merge(Logger.layer([logger]), Layer.succeed(quiet, "Warn")),
    of: (body) => Effect.tapCause(body, report)
  }
}
