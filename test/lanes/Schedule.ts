/** Divides the files of a lane into batches for a few processes. */
import { dirname } from "node:path"

/** The durations of files, in seconds. */
export interface Durations {
  readonly known: { readonly [file: string]: number }
  /** The duration of every other file. */
  readonly usual: number
}

/** The target length of a batch in seconds. A batch runs again as a whole if one of its tests fails, so it has to be short. */
const longest = 45

/** Returns the total duration of files, in seconds. */
export const secondsOf = (files: ReadonlyArray<string>, { known, usual }: Durations): number =>
  files.reduce((sum, file) => sum + (known[file] ?? usual), 0)

/**
 * Returns batches of files, the longest batch first. Files of one folder stay together if they fit, because they use the same control
 * planes. There are at least as many batches as processes if there are enough files.
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

/** Joins pieces into batches of at most `limit` seconds, the longest piece first. A longer piece is its own batch. */
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
