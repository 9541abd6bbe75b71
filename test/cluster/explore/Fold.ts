/** Formats lines with their times, and folds repeated lines into a count. */

/** A line with its time. */
export interface Line {
  /** The time in epoch milliseconds. */
  readonly at: number
  /** Two lines with the same value here count as equal. */
  readonly same: string
  readonly text: string
}

/** The maximum number of lines in a repeated block. */
const longestBlock = 12

/** The minimum number of equal blocks to fold. */
const fewest = 3

const clock = (millis: number): string => {
  const seconds = Math.max(0, millis) / 1000
  return `${String(Math.floor(seconds / 60)).padStart(2, "0")}:${(seconds % 60).toFixed(3).padStart(6, "0")}`
}

/** Returns the number of repetitions of the block of this length at an index, including the first. */
const timesOf = (lines: ReadonlyArray<Line>, at: number, length: number): number => {
  let end = at + length
  while (end < lines.length && lines[end]?.same === lines[end - length]?.same) end++
  return Math.floor((end - at) / length)
}

/** Formats lines with their times since `since`: `00:01.500 PATCH …`. Repeated lines are followed by `… 12 times until 00:09.000`. */
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
