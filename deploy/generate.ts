/** `bun run generate`: writes the part of `deploy/` that follows from code, and removes what does not follow from it any more. */
import { join } from "node:path"
import * as NodeFileSystem from "@effect/platform-node-shared/NodeFileSystem"
import * as NodeRuntime from "@effect/platform-node-shared/NodeRuntime"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import { program } from "../controllers/main.ts"
import * as Generated from "./generate/Generated.ts"

const write = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const files = yield* Generated.files(program)
  yield* Effect.forEach(Generated.folders, (folder) =>
    fs.remove(join(import.meta.dir, folder), { recursive: true, force: true })
  )
  for (const [path, text] of files) {
    const to = join(import.meta.dir, path)
    yield* fs.makeDirectory(join(to, ".."), { recursive: true })
    yield* fs.writeFileString(to, text)
  }
})

NodeRuntime.runMain(Effect.provide(write, NodeFileSystem.layer))
