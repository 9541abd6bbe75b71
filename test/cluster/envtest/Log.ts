/**
 * Reads the end of a log file to which another process writes.
 */
import { closeSync, fstatSync, openSync, readSync, statSync } from "node:fs"

/** The most bytes that are read from a log. Its end explains a failure. */
const window = 64 * 1024

/** Returns the last lines of a file, from byte `from` on (0: from its start). Empty if the file does not exist. */
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

/** The size of the file in bytes; 0 if the file does not exist. */
export const size = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0
