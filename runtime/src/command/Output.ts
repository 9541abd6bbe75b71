/** The output of a verb. A failed write is an error, because an exit code without its output would mislead. */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"

/** The output was not written in full. The message is one line. */
export class NotWritten extends Data.TaggedError("NotWritten")<{ readonly message: string }> {}

/** The reason without the name of the error and of the system call: `ENOSPC: no space left on device, write`. */
const reasonOf = (error: unknown): string => {
  const message = error instanceof Error ? error.message : String(error)
  return /^[A-Z]+: ([^,]+)/.exec(message)?.[1] ?? message
}

/** Prints a text and a line break. */
export const print = (text: string): Effect.Effect<void, NotWritten> =>
  Effect.asVoid(
    Effect.tryPromise({
      try: () => Bun.write(Bun.stdout, `${text}\n`),
      catch: (error) => new NotWritten({ message: `cannot write to standard output: ${reasonOf(error)}` })
    })
  )
