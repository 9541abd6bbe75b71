/** The text of a file that a flag names. */
import { FileSystem } from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"

/** Reads a file. The error has its path and the reason. */
export const read = (path: string): Effect.Effect<string, string, FileSystem> =>
  Effect.flatMap(FileSystem, (fs) =>
    Effect.mapError(fs.readFileString(path), (error) => {
      const reason = error._tag === "SystemError" ? error.reason : error.description
      return reason === "NotFound" ? `${path} does not exist` : `${path} cannot be read (${reason})`
    })
  )

/** The same, or standard input for `-`. */
export const readOrInput = (path: string): Effect.Effect<string, string, FileSystem> =>
  path === "-" ? Effect.promise(() => Bun.stdin.text()) : read(path)
