/**
 * The state of a server in a folder, so that it goes on where another one ended. The only place where the server does files.
 */
import { FileSystem, Path } from "@effect/platform"
import type { PlatformError } from "@effect/platform/Error"
import { Data, Effect } from "effect"
import * as Json from "../model/Json.ts"
import type { Saved } from "./Store.ts"

/** What is in the folder is no state of a server. */
export class Unreadable extends Data.TaggedError("Unreadable")<{ readonly path: string; readonly reason: string }> {
  override get message(): string {
    return `${this.path}: ${this.reason}`
  }
}

/** A state, and the time of its clock. */
export interface State extends Saved {
  /** How far the clock was ahead of the real time, in milliseconds. Default: not at all. */
  readonly ahead?: number | undefined
}

const fileName = "state.json"

/** Writes the state; whoever reads sees the old one or the new one, never a part. The folder is made if it is missing. */
export const save = (
  server: { readonly saved: () => State },
  folder: string
): Effect.Effect<void, PlatformError, FileSystem.FileSystem | Path.Path> =>
  Effect.gen(function* () {
    const files = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    const target = path.join(folder, fileName)
    yield* files.makeDirectory(folder, { recursive: true })
    yield* files.writeFileString(`${target}.new`, JSON.stringify(server.saved()))
    yield* files.rename(`${target}.new`, target)
  })

/** Reads a state, for `make({ saved })`; undefined when there is none yet. */
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
