/** Durations as Kubernetes' flags have them: `15s`, `1m30s`, `10h`, `500ms`. */
import * as EffectDuration from "effect/Duration"
import * as Either from "effect/Either"

const units: { readonly [unit: string]: number } = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }

/** Reads a duration; the message of a refusal says what is accepted. */
export const parse = (text: string): Either.Either<EffectDuration.Duration, string> => {
  if (/^(\d+(\.\d+)?(ms|s|m|h))+$/.test(text) === false) {
    return Either.left(`"${text}" is no duration: write it like 15s, 1m30s or 10h`)
  }
  let millis = 0
  for (const [, amount = "0", unit = "s"] of text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)) {
    millis += Number(amount) * (units[unit] ?? 0)
  }
  return Either.right(EffectDuration.millis(millis))
}
