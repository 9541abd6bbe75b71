/** The log of a container, as it is read: its end, or all that is yet to come. */
import * as Effect from "effect/Effect"

/** The last lines of it; `undefined`: all of them. */
export const tail = (log: string, lines: number | undefined): string => {
  if (lines === undefined) return log
  return lines === 0
    ? ""
    : log
        .split(/(?<=\n)/)
        .slice(-lines)
        .join("")
}

/** Between two looks at a log that is followed. */
const pause = "100 millis"

/**
 * What there is of it, and then what is added to it: each time the next piece, and `undefined` at the end, when the container has
 * ended and all that it wrote was given.
 */
export const follow = (
  read: Effect.Effect<string>,
  hasEnded: Effect.Effect<boolean>,
  lines: number | undefined
): Effect.Effect<string | undefined> => {
  let given: number | undefined
  const next: Effect.Effect<string | undefined> = Effect.gen(function* () {
    // Asked first: nothing is added after the end.
    const ended = yield* hasEnded
    const log = yield* read
    const piece = given === undefined ? tail(log, lines) : log.slice(given)
    given = log.length
    if (piece !== "") return piece
    if (ended) return undefined
    return yield* Effect.zipRight(Effect.sleep(pause), next)
  })
  return next
}
