/** Times in the formats of Kubernetes, from milliseconds of the Clock since 1970, and a monotonic time for durations. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"

/**
 * Monotonic milliseconds with fractions, independent of the machine's time: for deadlines and durations. They are valid only within
 * the process. A read costs about 0.2 µs, three times that of the Clock's milliseconds.
 *
 * @internal
 */
export const monotonic = (clock: Clock.Clock): number => Number(clock.monotonicTimeNanosUnsafe()) / 1e6

/** The machine's clock. A test with virtual time has another one. */
export const machine: Clock.Clock = Context.get(Context.empty(), Clock.Clock)

/**
 * Whether a clock is the machine's.
 *
 * @internal
 */
export const isMachine = (clock: Clock.Clock): boolean => clock === machine

/**
 * RFC 3339 with whole seconds, as `metav1.Time`: `2026-11-20T09:00:00Z`.
 *
 * @example
 * ```ts
 * Time.seconds(0) // => "1970-01-01T00:00:00Z"
 * ```
 */
export const seconds = (millis: number): string => {
  const second = Math.floor(millis / 1000)
  // Every status asks for the present second, and a text takes 0.7 us.
  if (second !== last.second) last = { second, text: `${new Date(millis).toISOString().slice(0, 19)}Z` }
  return last.text
}

let last = { second: 0, text: "1970-01-01T00:00:00Z" }

/**
 * RFC 3339 with six digits of a second, as `metav1.MicroTime`: `2026-11-20T09:00:00.250000Z`.
 *
 * @example
 * ```ts
 * Time.micros(250) // => "1970-01-01T00:00:00.250000Z"
 * ```
 */
export const micros = (millis: number): string => {
  const whole = Math.floor(millis)
  const rest = Math.min(999, Math.round((millis - whole) * 1000))
  return new Date(whole).toISOString().replace("Z", `${String(rest).padStart(3, "0")}Z`)
}
