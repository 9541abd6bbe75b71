/** Reads the log of a container: its last lines, or each further piece. */
import * as Effect from "effect/Effect"

/** Returns the last lines of a log; `undefined` lines: the whole log. */
export const tail = (log: string, lines: number | undefined): string => {
  if (lines === undefined) return log
  return lines === 0
    ? ""
    : log
        .split(/(?<=\n)/)
        .slice(-lines)
        .join("")
}

/** The time between two reads of a followed log. */
const pause = "100 millis"

/**
 * Returns an effect that yields the current log first, and then each further piece. It yields `undefined` when the container has ended and
 * its whole log was returned.
 */
export const follow = (
  read: Effect.Effect<string>,
  hasEnded: Effect.Effect<boolean>,
  lines: number | undefined
): Effect.Effect<string | undefined> => {
  let given: number | undefined
  const next: Effect.Effect<string | undefined> = Effect.gen(function* () {
    // `hasEnded` runs before the read, because a container writes nothing after its end.
    const ended = yield* hasEnded
    const log = yield* read
    const piece = given === undefined ? tail(log, lines) : log.slice(given)
    given = log.length
    if (piece !== "") return piece
    if (ended) return undefined
    return yield* Effect.andThen(Effect.sleep(pause), next)
  })
  return next
}
