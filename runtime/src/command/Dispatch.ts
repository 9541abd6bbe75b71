/**
 * Runs the verb of a command line as the process's main program.
 *
 * Exit codes: 0 for success and for a clean shutdown, 1 for a failure, 2 for wrong usage. A failure prints one line to standard error.
 * A signal is a failure of a verb with an end of its own: 130 for SIGINT, 143 for SIGTERM.
 */
import * as NodeRuntime from "@effect/platform-node-shared/NodeRuntime"
import * as Effect from "effect/Effect"
import type { FileSystem } from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Result from "effect/Result"
import * as FairScheduler from "../manager/FairScheduler.ts"
import * as Text from "../resource/Text.ts"
import * as Output from "./Output.ts"
import * as Verb from "./Verb.ts"
import * as Verdict from "./Verdict.ts"

/**
 * The first signal interrupts the program, by `runMain`. A second one exits the process. The default action of the system would not,
 * because it does not apply to process 1 of a container.
 *
 * @returns the first signal; undefined before it
 */
const endAtSecondSignal = (name: string): (() => string | undefined) => {
  let first: string | undefined
  const count = (signal: string): void => {
    if (first === undefined) {
      first = signal
      return
    }
    process.stderr.write(`${name}: ended at once by a second signal (${signal})\n`)
    process.exit(1)
  }
  process.on("SIGINT", count).on("SIGTERM", count)
  return () => first
}

/** The files. Their module takes 6 ms to load, and the unused parts of its package another 20 ms. */
const files = Layer.unwrap(
  Effect.map(
    Effect.promise(() => import("@effect/platform-node-shared/NodeFileSystem")),
    ({ layer }) => layer
  )
)

/** Those of the verbs without another logging. */
const loggers = new Set([Logger.withConsoleLog(Logger.formatLogFmt), Logger.tracerLogger])

/**
 * Runs the verb that the process's command line names. Call it once.
 *
 * @internal
 */
export const run = (named: Verb.Named, verbs: ReadonlyArray<Verb.Verb<unknown, FileSystem>>): void => {
  const selected = Verb.select(named, verbs, process.argv.slice(2))
  const asked = Effect.flatMap(Effect.fromResult(selected), (request) => {
    if (request._tag === "Print") return Output.print(request.text)
    const { verb } = request
    const running = verb.run({ program: named.name, args: request.args, environment: process.env })
    // The verb of a program may be without a service, too.
    return verb.usesFiles === false ? (running as Effect.Effect<void, unknown>) : Effect.provide(running, files)
  })
  const signal = endAtSecondSignal(named.name)
  const isUntilSignal =
    Result.isSuccess(selected) && selected.success._tag === "Run" && selected.success.verb.untilSignal === true
  const logging = Effect.provideService(asked, Logger.CurrentLoggers, loggers)
  NodeRuntime.runMain(FairScheduler.within(logging), {
    disableErrorReporting: true,
    teardown: (exit, onExit) => {
      const { code, line } = Verdict.of(exit, isUntilSignal ? undefined : Verdict.interrupted(signal()))
      if (line !== undefined) process.stderr.write(`${named.name}: ${Text.printable(line)}\n`)
      onExit(code)
    }
  })
}
