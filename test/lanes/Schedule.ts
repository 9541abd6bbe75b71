/** Divides the files of a lane into batches for a few processes. */
import { dirname } from "node:path"

/** How long each file takes, in seconds. */
export interface Durations {
  readonly known: { readonly [file: string]: number }
  /** For every other file. */
  readonly usual: number
}

/** A batch repeats as a whole when one of its tests fails, so a batch is not much longer than this, in seconds. */
const longest = 45

/** How long files take together, in seconds. */
export const secondsOf = (files: ReadonlyArray<string>, { known, usual }: Durations): number =>
  files.reduce((sum, file) => sum + (known[file] ?? usual), 0)

/**
 * Batches of files, the longest batch first. Files of one folder stay together where they fit, because they use the same control
 * planes. There are at least as many batches as processes, as long as there are files.
 */
export const batches = (
  files: ReadonlyArray<string>,
  durations: Durations,
  processes: number
): ReadonlyArray<ReadonlyArray<string>> => {
  const secondsIn = (some: ReadonlyArray<string>): number => secondsOf(some, durations)
  const limit = Math.min(longest, secondsIn(files) / processes)
  const pieces = [...Map.groupBy(files, dirname).values()].flatMap((folder) =>
    packed(
      folder.map((file) => [file]),
      secondsIn,
      limit
    )
  )
  return packed(pieces, secondsIn, limit).toSorted((one, other) => secondsIn(other) - secondsIn(one))
}

/** Joins pieces into batches of at most `limit` seconds, the longest piece first. A longer piece is a batch by itself. */
const packed = (
  pieces: ReadonlyArray<ReadonlyArray<string>>,
  secondsOf: (files: ReadonlyArray<string>) => number,
  limit: number
): ReadonlyArray<ReadonlyArray<string>> => {
  const made: Array<Array<string>> = []
  for (const piece of pieces.toSorted((one, other) => secondsOf(other) - secondsOf(one))) {
    const fitting = made.find((batch) => secondsOf(batch) + secondsOf(piece) <= limit)
    if (fitting === undefined) made.push([...piece])
    else fitting.push(...piece)
  }
  return made
}
