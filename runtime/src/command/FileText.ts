/** The text of a file that a flag names. */
import * as Effect from "effect/Effect"
import { FileSystem } from "effect/FileSystem"
import * as FileError from "../resource/FileError.ts"

/** Reads a file. The error has its path and the reason. */
export const read = (path: string): Effect.Effect<string, string, FileSystem> =>
  Effect.flatMap(FileSystem, (fs) =>
    Effect.mapError(fs.readFileString(path), (error) => {
      const reason = FileError.reasonOf(error)
      return reason === "NotFound" ? `${path} does not exist` : `${path} cannot be read (${reason})`
    })
  )

/** The same, or standard input for `-`. */
export const readOrInput = (path: string): Effect.Effect<string, string, FileSystem> =>
  path === "-" ? Effect.promise(() => Bun.stdin.text()) : read(path)
