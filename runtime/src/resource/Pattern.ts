/**
 * Translates regular expressions from JavaScript, the dialect of schemas, to RE2, in which the API server checks the `pattern` of a
 * CRD. Patterns with the same meaning in both stay as they are. A pattern that RE2 does not support is an error, never an
 * approximation.
 */
import * as Result from "effect/Result"

// The syntax that RE2 rejects or interprets differently, with a description. Escapes and classes are skipped.
const foreign: ReadonlyArray<readonly [RegExp, string]> = [
  [/^\(\?<?[=!]/, "a look-around"],
  [/^\\[1-9k]/, "a back-reference"],
  [/^\\u/, "a \\u escape"],
  [/^\\c/, "a \\c escape"],
  [/^\[\^?\]/, "an empty class"]
]

const largestRepeat = 1000

/** The pattern for RE2, or the reason why RE2 cannot express it. Flags become a prefix: `/a/i` is `(?i)a`. */
export const fromRegExp = (regexp: RegExp): Result.Result<string, string> => {
  const { source } = regexp
  for (let at = 0, inClass = false; at < source.length; at++) {
    const rest = source.slice(at)
    const found = foreign.find(([start]) => (!inClass || start.source.startsWith("^\\\\")) && start.test(rest))
    if (found !== undefined) return Result.fail(`has ${found[1]}, which the API server's RE2 does not know`)
    const repeat = inClass ? null : /^\{(\d+)(?:,(\d*))?\}/.exec(rest)
    if (repeat !== null && Math.max(Number(repeat[1]), Number(repeat[2] ?? 0)) > largestRepeat) {
      return Result.fail(`repeats more than ${largestRepeat} times, which the API server's RE2 does not do`)
    }
    if (rest.startsWith("\\")) at++
    else if (rest.startsWith("[") && !inClass) inClass = true
    else if (rest.startsWith("]")) inClass = false
  }
  const flags = ["i", "m", "s"].filter((flag) => regexp.flags.includes(flag)).join("")
  // Only a JavaScript literal must escape a slash.
  const pattern = source.replace(/\\(.)/gs, (whole, character) => (character === "/" ? "/" : whole))
  return Result.succeed(flags === "" ? pattern : `(?${flags})${pattern}`)
}

/** The same for the text of a pattern. A text that is not a JavaScript pattern counts as RE2's own, such as `(?i)a`. */
export const fromText = (text: string): Result.Result<string, string> =>
  Result.match(
    Result.try(() => new RegExp(text)),
    { onFailure: () => Result.succeed(text), onSuccess: fromRegExp }
  )

/** The pattern that matches exactly this text. */
export const literal = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")
