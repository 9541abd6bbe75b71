/**
 * Runs the verb of a command line as the process's main program.
 *
 * Exit codes: 0 for success and for a clean shutdown, 1 for a failure, 2 for wrong usage. A failure prints one line to standard error.
 */
import type { FileSystem } from "@effect/platform/FileSystem"
// The unused parts of BunContext take 20 ms to load at every start.
import * as BunFileSystem from "@effect/platform-bun/BunFileSystem"
import * as BunRuntime from "@effect/platform-bun/BunRuntime"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as FairScheduler from "../manager/FairScheduler.ts"
import * as Verb from "./Verb.ts"
import * as Verdict from "./Verdict.ts"

/**
 * The first signal interrupts the program, by `runMain`. A second one exits the process. The default action of the system would not,
 * because it does not apply to process 1 of a container.
 */
const endAtSecondSignal = (name: string): void => {
  let signals = 0
  const count = (signal: string): void => {
    signals++
    if (signals < 2) return
    process.stderr.write(`${name}: ended at once by a second signal (${signal})\n`)
    process.exit(1)
  }
  process.on("SIGINT", count).on("SIGTERM", count)
}

/**
 * Runs the verb that the process's command line names. Call it once.
 *
 * @internal
 */
export const run = (named: Verb.Named, verbs: ReadonlyArray<Verb.Verb<unknown, FileSystem>>): void => {
  const asked = Effect.suspend(() =>
    Effect.flatMap(Verb.select(named, verbs, process.argv.slice(2)), (request) =>
      request._tag === "Print"
        ? Console.log(request.text)
        : request.verb.run({ program: named.name, args: request.args, environment: process.env })
    )
  )
  endAtSecondSignal(named.name)
  BunRuntime.runMain(FairScheduler.within(Effect.provide(asked, BunFileSystem.layer)), {
    disableErrorReporting: true,
    disablePrettyLogger: true,
    teardown: (exit, onExit) => {
      const { code, line } = Verdict.of(exit)
      if (line !== undefined) process.stderr.write(`${named.name}: ${line}\n`)
      onExit(code)
    }
  })
}
