/**
 * Saves the state of a server to a folder, so that a later server can continue from it. Only this module of the server uses
 * files.
 */
import { Data, Effect, FileSystem, Path } from "effect"
import type { PlatformError } from "effect/PlatformError"
import * as Json from "../model/Json.ts"
import type { Saved } from "./Store.ts"

/** The error of a folder whose content is not a valid state. */
export class Unreadable extends Data.TaggedError("Unreadable")<{ readonly path: string; readonly reason: string }> {
  override get message(): string {
    return `${this.path}: ${this.reason}`
  }
}

/** The state of a server and its clock. */
export interface State extends Saved {
  /** The offset of the server's clock from the real time, in milliseconds. Default: 0. */
  readonly ahead?: number | undefined
}

const fileName = "state.json"

/**
 * Writes the state atomically: a reader sees the old state or the new one. Creates the folder if it is missing. Only the owner can read the
 * file, because it contains every Secret.
 */
export const save = (
  server: { readonly saved: () => State },
  folder: string
): Effect.Effect<void, PlatformError, FileSystem.FileSystem | Path.Path> =>
  Effect.gen(function* () {
    const files = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    const target = path.join(folder, fileName)
    yield* files.makeDirectory(folder, { recursive: true, mode: 0o700 })
    yield* files.remove(`${target}.new`, { force: true })
    // Without a file that another user may have opened before.
    yield* files.writeFileString(`${target}.new`, JSON.stringify(server.saved()), { flag: "wx", mode: 0o600 })
    yield* files.rename(`${target}.new`, target)
  })

/**
 * Reads a state for `make({ saved })`; undefined if the folder does not contain one yet. Fails with `Unreadable` if the state
 * is invalid.
 */
export const load = (
  folder: string
): Effect.Effect<State | undefined, PlatformError | Unreadable, FileSystem.FileSystem | Path.Path> =>
  Effect.gen(function* () {
    const files = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    const target = path.join(folder, fileName)
    if (!(yield* files.exists(target))) return undefined
    const text = yield* files.readFileString(target)
    const value = yield* Effect.try({
      try: (): Json.Json => JSON.parse(text),
      catch: (error) => new Unreadable({ path: target, reason: String(error) })
    })
    const revision = Json.number(Json.at(value, "revision"))
    const storages = Json.at(value, "storages")
    if (revision === undefined || !Json.isObject(storages)) {
      return yield* new Unreadable({ path: target, reason: "not the state of an API server" })
    }
    return {
      revision,
      ahead: Json.number(Json.at(value, "ahead")),
      storages: Object.fromEntries(Object.entries(storages).map(([storage, all]) => [storage, Json.objects(all)]))
    }
  })
