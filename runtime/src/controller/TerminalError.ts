/** A permanent error: a retry cannot succeed. */
import * as Data from "effect/Data"

/**
 * A permanent error: the controller does not retry the object until its next trigger, or until the time of the last `requeueAfter` of the
 * object. Use it if only a change of the object or of the
 * program can fix the error. The runtime logs and counts it as an error.
 *
 * @example
 * ```ts
 * if (site.spec.host === "localhost") {
 *   return yield* new TerminalError({ message: 'invalid spec.host: "localhost" (must be a public name)' })
 * }
 * ```
 */
export class TerminalError extends Data.TaggedError("TerminalError")<{
  readonly message: string
  readonly cause?: unknown
}> {}
