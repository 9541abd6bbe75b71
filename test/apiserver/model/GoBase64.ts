/**
 * Go's errors for invalid base64.
 */

/** Returns the error of a text, or undefined if it is valid base64. Line ends are ignored. */
export const parseError = (text: string): string | undefined => {
  const at = wrongAt(text)
  return at === undefined ? undefined : `illegal base64 data at input byte ${at}`
}

const wrongAt = (text: string): number | undefined => {
  let digits = 0
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at)
    if (character === "\r" || character === "\n") continue
    if (character === "=") return wrongPadding(text, at, digits % 4)
    if (!/[A-Za-z0-9+/]/.test(character)) return at
    digits++
  }
  return digits % 4 === 0 ? undefined : text.length - (digits % 4)
}

/** Returns the position of an error in the padding, which follows `digits` digits of the last group of four. */
const wrongPadding = (text: string, at: number, digits: number): number | undefined => {
  if (digits < 2) return at
  let end = afterLines(text, at + 1)
  if (digits === 2) {
    if (end === text.length) return end
    if (text[end] !== "=") return end - 1
    end = afterLines(text, end + 1)
  }
  return end < text.length ? end : undefined
}

const afterLines = (text: string, from: number): number => {
  let at = from
  while (text[at] === "\r" || text[at] === "\n") at++
  return at
}
