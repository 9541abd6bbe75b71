/**
 * The end of a log file that another process is writing.
 */
import { closeSync, fstatSync, openSync, readSync, statSync } from "node:fs"

/** At most this many bytes of a log are read: its end is what explains a failure. */
const window = 64 * 1024

/** The last lines of a file, from byte `from` on (0: from its start); empty when there is no such file. */
export const tail = (path: string, lines: number, from = 0): string => {
  let file: number
  try {
    file = openSync(path, "r")
  } catch {
    return ""
  }
  try {
    const end = fstatSync(file).size
    const start = Math.max(from, end - window)
    const buffer = Buffer.alloc(Math.max(0, end - start))
    const read = readSync(file, buffer, 0, buffer.length, start)
    return buffer.subarray(0, read).toString("utf8").trimEnd().split("\n").slice(-lines).join("\n")
  } finally {
    closeSync(file)
  }
}

/** How many bytes the file has now; 0 when there is no such file. */
export const size = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0
