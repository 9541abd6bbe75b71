/** The layout of help: two columns, wrapped to the width of the terminal. */

/** The widest line of help. */
export const widest = 100

/** The width of the terminal, at most {@link widest}. */
export const width = (): number => Math.min(widest, Math.max(60, process.stdout.columns ?? widest))

/** The widest first column. A longer head has a line of its own. */
const mostHead = 40

/** Lines with two columns. The text of the second column continues below itself. */
export const columns = (
  rows: ReadonlyArray<readonly [head: string, text: string]>,
  width: number
): ReadonlyArray<string> => {
  const indent = Math.min(mostHead, Math.max(...rows.map(([head]) => head.length))) + 4
  return rows.flatMap(([head, text]) => {
    const [first = "", ...rest] = wrapped(text, width - indent)
    const space = " ".repeat(indent)
    const start = `  ${head}`
    return [
      ...(start.length > indent - 2 ? [start, `${space}${first}`] : [`${start.padEnd(indent)}${first}`]),
      ...rest.map((line) => `${space}${line}`)
    ]
  })
}

/** The lines of a text. A word that is longer than the width has a line of its own. */
export const wrapped = (text: string, width: number): ReadonlyArray<string> => {
  const lines: Array<string> = []
  for (const word of text.split(" ")) {
    const last = lines.at(-1)
    if (last === undefined || last.length + 1 + word.length > width) lines.push(word)
    else lines[lines.length - 1] = `${last} ${word}`
  }
  return lines
}
