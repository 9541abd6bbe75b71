/** The mover as a process: its environment, its result and its exit code. */
import { mkdtempSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import { exitCodes } from "../run/Outcome.ts"
import * as Mover from "./Mover.ts"
import * as Parameters from "./Parameters.ts"
import * as Report from "./Report.ts"
import * as Restic from "./Restic.ts"
import * as Step from "./Step.ts"

/** The end of a run. */
const finishedOf = (exit: Exit.Exit<never, Report.Finished>): Report.Finished => {
  const cause = Exit.isFailure(exit) ? exit.cause : Cause.empty
  if (Cause.hasInterrupts(cause)) {
    return new Report.Finished({ reason: "Terminated", exitCode: exitCodes.Terminated, message: "ended by a signal" })
  }
  return Option.getOrElse(
    Cause.findErrorOption(cause),
    () =>
      new Report.Finished({ reason: "ResticFailed", exitCode: exitCodes.ResticFailed, message: Cause.pretty(cause) })
  )
}

/**
 * Runs the operations and writes the result. Then it ends the process with the exit code of the run. An interruption ends restic
 * first.
 */
export const main = (args: ReadonlyArray<string>, environment: Parameters.Environment): Effect.Effect<never> => {
  const redact = Restic.redactor(environment)
  const report = Report.make()
  const run = Effect.gen(function* () {
    const read = Parameters.read(environment)
    if (Result.isFailure(read)) return yield* Step.finish("ResticFailed", read.failure)
    const parameters = read.success
    const work = mkdtempSync(join(parameters.temporary, "mover-"))
    const mover = { parameters, report, work, restic: Restic.make(environment, redact) }
    return yield* Effect.ensuring(
      Mover.run(mover, args),
      Effect.sync(() => Mover.clear(mover))
    )
  })
  return Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(Effect.exit(restore(run)), (exit) =>
      Effect.sync(() => {
        const finished = finishedOf(exit)
        // Only the message, because a password may be a word of the format.
        const { exitCode, reason } = finished
        const message = redact(finished.message)
        const line = Report.text(report, new Report.Finished({ exitCode, reason, message }))
        const file = environment.RESULT || "/dev/termination-log"
        try {
          writeFileSync(file, `${line}\n`)
        } catch (error) {
          // Kubernetes then reads the last lines of the log.
          const cause = error instanceof Error ? error.message : error
          process.stderr.write(`the result cannot be written: ${file} (${cause})\n`)
        }
        process.stdout.write(`${line}\n`)
        process.exit(finished.exitCode)
      })
    )
  )
}
