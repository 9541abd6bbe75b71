/** The output of a verb. A failed write is an error, because an exit code of 0 without the output would mislead. */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Text from "../resource/Text.ts"

/** The output was not written in full. The message is one line. */
export class NotWritten extends Data.TaggedError("NotWritten")<{ readonly message: string }> {}

/** The program that reads the output has ended, such as `head`. Users expect that, so the error has no message. */
export class NotRead extends Data.TaggedError("NotRead") {}

const failureOf = (error: unknown): NotWritten | NotRead =>
  error instanceof Error && "code" in error && error.code === "EPIPE"
    ? new NotRead()
    : new NotWritten({ message: `cannot write to standard output: ${reasonOf(error)}` })

/** The reason without the name of the error and of the system call: `ENOSPC: no space left on device, write`. */
const reasonOf = (error: unknown): string => {
  const message = error instanceof Error ? error.message : String(error)
  return /^[A-Z]+: ([^,]+)/.exec(message)?.[1] ?? message
}

/**
 * Prints a text and a line break. It escapes control characters as in JSON: the text may be of another user, and terminals obey them.
 * `Bun.write` writes the start of a long text twice into a slow pipe, so this uses the stream.
 */
export const print = (text: string): Effect.Effect<void, NotWritten | NotRead> =>
  Effect.callback<void, NotWritten | NotRead>((resume) => {
    const { stdout } = process
    const failed = (error: unknown): void => resume(failureOf(error))
    stdout.once("error", failed)
    stdout.write(`${Text.printable(text)}\n`, (error) => {
      // The stream also emits the error, later.
      if (error != null) return failed(error)
      stdout.off("error", failed)
      resume(Effect.void)
    })
  })
