/** A copy of files, to restore them after a failure. */
import { dirname } from "node:path"
import * as Effect from "effect/Effect"
import { FileSystem } from "effect/FileSystem"

/** Runs all effects, also after a failure, and fails with the first error. */
export const each = <E, R>(actions: ReadonlyArray<Effect.Effect<void, E, R>>): Effect.Effect<void, E, R> =>
  Effect.flatMap(Effect.forEach(actions, Effect.exit), (exits) => Effect.all(exits, { discard: true }))

/** Copies the files at these paths, and in folders among them. Returns the effect that restores them and removes new files. */
export const take = (paths: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem
    const filesAt = (path: string) =>
      Effect.gen(function* () {
        if (!(yield* fs.exists(path))) return []
        if ((yield* fs.stat(path)).type !== "Directory") return [path]
        const inside = (yield* fs.readDirectory(path, { recursive: true })).map((name) => `${path}/${name}`)
        return yield* Effect.filter(inside, (file) => Effect.map(fs.stat(file), ({ type }) => type === "File"))
      })
    const files = Effect.map(Effect.forEach(paths, filesAt), (found) => found.flat())
    const before = new Map<string, Uint8Array>()
    for (const file of yield* files) before.set(file, yield* fs.readFile(file))
    const putBack = (file: string, content: Uint8Array) =>
      Effect.gen(function* () {
        const now = yield* Effect.option(fs.readFile(file))
        if (now._tag === "Some" && Buffer.from(content).equals(now.value)) return
        // A generator may have removed the folder.
        yield* fs.makeDirectory(dirname(file), { recursive: true })
        yield* fs.writeFile(file, content)
      })
    const removeNew = Effect.flatMap(files, (now) =>
      each(now.filter((file) => !before.has(file)).map((file) => fs.remove(file, { force: true })))
    )
    return each([removeNew, ...Array.from(before, ([file, content]) => putBack(file, content))])
  })
