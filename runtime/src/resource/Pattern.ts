/**
 * Regular expressions between two dialects: JavaScript's, in which schemas are written, and RE2, by which the API server
 * checks the `pattern` of a CRD. What both read the same passes through; what RE2 lacks is told, never approximated.
 */
import * as Either from "effect/Either"

// What RE2 refuses or reads differently, with the words for it. Each is looked for outside of escapes and classes.
const foreign: ReadonlyArray<readonly [RegExp, string]> = [
  [/^\(\?<?[=!]/, "a look-around"],
  [/^\\[1-9k]/, "a back-reference"],
  [/^\\u/, "a \\u escape"],
  [/^\\c/, "a \\c escape"],
  [/^\[\^?\]/, "an empty class"]
]

const largestRepeat = 1000

/** The pattern as RE2 reads it, or the words for what RE2 cannot do. Flags become a prefix: `/a/i` is `(?i)a`. */
export const fromRegExp = (regexp: RegExp): Either.Either<string, string> => {
  const { source } = regexp
  for (let at = 0, inClass = false; at < source.length; at++) {
    const rest = source.slice(at)
    const found = foreign.find(([start]) => (!inClass || start.source.startsWith("^\\\\")) && start.test(rest))
    if (found !== undefined) return Either.left(`has ${found[1]}, which the API server's RE2 does not know`)
    const repeat = inClass ? null : /^\{(\d+)(?:,(\d*))?\}/.exec(rest)
    if (repeat !== null && Math.max(Number(repeat[1]), Number(repeat[2] ?? 0)) > largestRepeat) {
      return Either.left(`repeats more than ${largestRepeat} times, which the API server's RE2 does not do`)
    }
    if (rest.startsWith("\\")) at++
    else if (rest.startsWith("[") && !inClass) inClass = true
    else if (rest.startsWith("]")) inClass = false
  }
  const flags = ["i", "m", "s"].filter((flag) => regexp.flags.includes(flag)).join("")
  // Only a literal in JavaScript has to escape a slash.
  const pattern = source.replace(/\\(.)/gs, (whole, character) => (character === "/" ? "/" : whole))
  return Either.right(flags === "" ? pattern : `(?${flags})${pattern}`)
}

/** The same of a pattern's text. What is no regular expression of JavaScript is taken to be RE2's own, such as `(?i)a`. */
export const fromText = (text: string): Either.Either<string, string> =>
  Either.match(
    Either.try(() => new RegExp(text)),
    { onLeft: () => Either.right(text), onRight: fromRegExp }
  )

/** The pattern that matches exactly this text. */
export const literal = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")
