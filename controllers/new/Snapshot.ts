/** Files as they were, to be put back when what was begun can't be finished. */
import { FileSystem } from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"

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
    return Effect.gen(function* () {
      for (const file of yield* files) if (!before.has(file)) yield* fs.remove(file)
      for (const [file, content] of before) {
        const now = yield* Effect.option(fs.readFile(file))
        if (now._tag === "None" || !Buffer.from(content).equals(now.value)) yield* fs.writeFile(file, content)
      }
    })
  })
