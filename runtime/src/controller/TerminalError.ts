/** A permanent error: a retry cannot succeed. */
import * as Data from "effect/Data"

/**
 * Ends the retries of an object until something triggers it anew: for what only a change of the object (or of the program)
 * can mend. It is counted and logged as an error.
 */
export class TerminalError extends Data.TaggedError("TerminalError")<{
  readonly message: string
  readonly cause?: unknown
}> {}
