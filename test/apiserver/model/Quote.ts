/**
 * Quotes text like Go's `%q`, which escapes characters that are not printable.
 */

/** Returns the text in quotes. */
export const quote = (text: string): string =>
  `"${text.toWellFormed().replace(/["\\]|[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu, escaped)}"`

const escaped = (character: string): string => {
  if (character === '"' || character === "\\") return `\\${character}`
  const short = shorts.get(character)
  if (short !== undefined) return short
  const code = character.codePointAt(0) ?? 0
  const digits = code.toString(16)
  if (code < 0x80) return `\\x${digits.padStart(2, "0")}`
  return code < 0x10000 ? `\\u${digits.padStart(4, "0")}` : `\\U${digits.padStart(8, "0")}`
}

const shorts: ReadonlyMap<string, string> = new Map([
  ["\u0007", "\\a"],
  ["\b", "\\b"],
  ["\f", "\\f"],
  ["\n", "\\n"],
  ["\r", "\\r"],
  ["\t", "\\t"],
  ["\v", "\\v"]
])
