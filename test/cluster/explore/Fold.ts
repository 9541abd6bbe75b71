/** Lines with their times. Repeated lines are folded into a count. */

/** A line. */
export interface Line {
  /** Its time, in epoch milliseconds. */
  readonly at: number
  /** Two lines with the same text here are equal. */
  readonly same: string
  readonly text: string
}

/** The largest number of lines that repeat together. */
const longestBlock = 12

/** The smallest number of equal blocks that are folded. */
const fewest = 3

const clock = (millis: number): string => {
  const seconds = Math.max(0, millis) / 1000
  return `${String(Math.floor(seconds / 60)).padStart(2, "0")}:${(seconds % 60).toFixed(3).padStart(6, "0")}`
}

/** How often the block of this length at an index follows itself, including the first. */
const timesOf = (lines: ReadonlyArray<Line>, at: number, length: number): number => {
  let end = at + length
  while (end < lines.length && lines[end]?.same === lines[end - length]?.same) end++
  return Math.floor((end - at) / length)
}

/** The lines with their times since a moment: `00:01.500 PATCH …`, and `… 12 times until 00:09.000` after lines that repeat. */
export const of = (lines: ReadonlyArray<Line>, since: number): ReadonlyArray<string> => {
  const shown: Array<string> = []
  for (let at = 0; at < lines.length; ) {
    const lengths = Array.from({ length: longestBlock }, (_, index) => index + 1)
    const length = lengths.find((length) => timesOf(lines, at, length) >= fewest)
    const block = lines.slice(at, at + (length ?? 1))
    for (const { at, text } of block) shown.push(`${clock(at - since)} ${text}`)
    const times = length === undefined ? 1 : timesOf(lines, at, length)
    at += block.length * times
    if (times === 1) continue
    const until = clock((lines[at - 1]?.at ?? since) - since)
    shown.push(
      block.length === 1
        ? `… ${times} times until ${until}`
        : `… these ${block.length} lines ${times} times until ${until}`
    )
  }
  return shown
}
