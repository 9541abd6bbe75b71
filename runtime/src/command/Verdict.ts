/** The end of a command: its exit code, and the line that reports a failure. */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Output from "./Output.ts"
import * as Verb from "./Verb.ts"

/** The exit code, and the line to print. Without a line the command has succeeded, the log has the failure, or the reader of the output has ended. */
export interface Verdict {
  readonly code: number
  readonly line?: string
}

/** Shells add the number of the signal to 128. */
const codes: { readonly [signal: string]: number } = { SIGINT: 130, SIGTERM: 143 }

/** 128 and the number of SIGPIPE. */
const notRead = 141

/** The verdict about a verb that a signal has ended before its work was done. */
export const interrupted = (signal: string | undefined): Verdict => ({
  code: codes[signal ?? ""] ?? 1,
  line: signal === undefined ? "interrupted" : `ended by a signal (${signal})`
})

/**
 * The verdict about a command that has ended.
 *
 * @param ifInterrupted the verdict about an interruption. Default: a success
 */
export const of = (exit: Exit.Exit<unknown, unknown>, ifInterrupted: Verdict = { code: 0 }): Verdict => {
  if (Exit.isSuccess(exit)) return { code: 0 }
  if (Cause.hasInterruptsOnly(exit.cause)) return ifInterrupted
  const failure = Option.getOrUndefined(Cause.findErrorOption(exit.cause))
  if (failure instanceof Output.NotRead) return { code: notRead }
  if (failure instanceof Verb.Logged) return { code: failure.code }
  if (failure instanceof Verb.UsageError) return { code: failure.code ?? 2, line: failure.message }
  if (failure instanceof Error) return { code: 1, line: failure.message }
  return { code: 1, line: Cause.pretty(exit.cause) }
}

/** Logs a failure, so that a collector that parses each line gets it. The program then exits without printing it. */
export const logged = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | Verb.Logged, R> =>
  Effect.catchCause(effect, (cause): Effect.Effect<never, E | Verb.Logged> => {
    const { code, line } = of(Exit.failCause(cause))
    if (line === undefined) return Effect.failCause(cause)
    const isExpected = Option.isSome(Cause.findErrorOption(cause))
    const report = isExpected ? Effect.logError(line) : Effect.logError("The program failed unexpectedly", cause)
    return Effect.andThen(report, new Verb.Logged({ code }))
  })
