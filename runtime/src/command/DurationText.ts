/** Durations in the format of Kubernetes' flags: `15s`, `1m30s`, `10h`, `500ms`. */
import * as EffectDuration from "effect/Duration"
import * as Result from "effect/Result"

const units: { readonly [unit: string]: number } = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }

const millisOf = (text: string): number | undefined => {
  let millis = 0
  let read = 0
  for (const [part, amount = "0", unit = "s"] of text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/gy)) {
    millis += Number(amount) * (units[unit] ?? 0)
    read += part.length
  }
  return text !== "" && read === text.length ? millis : undefined
}

/**
 * Parses a duration. Failure: a message with the accepted format.
 *
 * @param options.atLeast the shortest accepted duration
 */
export const parse =
  (options: { readonly atLeast?: string | undefined } = {}) =>
  (text: string): Result.Result<EffectDuration.Duration, string> => {
    const millis = millisOf(text)
    if (millis === undefined) {
      const problem = /^\d+(\.\d+)?$/.test(text) ? "missing unit; " : ""
      return Result.fail(`invalid duration: "${text}" (${problem}write it like 15s, 1m30s or 10h)`)
    }
    const { atLeast } = options
    return atLeast !== undefined && millis < (millisOf(atLeast) ?? 0)
      ? Result.fail(`invalid duration: "${text}" (must be at least ${atLeast})`)
      : Result.succeed(EffectDuration.millis(millis))
  }
