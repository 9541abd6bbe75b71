/** Files as they were, to be put back when what was begun can't be finished. */
import { dirname } from "node:path"
import { FileSystem } from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"

/** Does each of them, also after one that failed; fails then, as the first of those did. */
export const each = <E, R>(actions: ReadonlyArray<Effect.Effect<void, E, R>>): Effect.Effect<void, E, R> =>
  Effect.flatMap(Effect.forEach(actions, Effect.exit), (exits) => Effect.all(exits, { discard: true }))

/** Remembers the files at these paths, and all in folders among them; gives what puts them back and removes what is new there. */
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
        // Who writes a folder anew removes it first.
        yield* fs.makeDirectory(dirname(file), { recursive: true })
        yield* fs.writeFile(file, content)
      })
    const removeNew = Effect.flatMap(files, (now) =>
      each(now.filter((file) => !before.has(file)).map((file) => fs.remove(file, { force: true })))
    )
    return each([removeNew, ...Array.from(before, ([file, content]) => putBack(file, content))])
  })
