/** The files of `plan -f` have the values that kubectl reads. */
import { expect } from "bun:test"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import * as NodeFileSystem from "@effect/platform-node-shared/NodeFileSystem"
import * as ManifestFiles from "@homeostat/runtime/command/ManifestFiles"
import * as Directory from "@homeostat/testkit/envtest/Directory"
import { live } from "@homeostat/testkit/Test"
import { Effect } from "effect"
import * as Scalars from "./Scalars.ts"

live("A file has the numbers, booleans and merged fields that kubectl reads", () =>
  Effect.gen(function* () {
    const path = join(yield* Directory.make, "scalars.yaml")
    yield* Effect.promise(() => writeFile(path, Scalars.text))
    const [object] = yield* ManifestFiles.objectsIn([path])
    const values: unknown = Reflect.get(object ?? {}, "values")
    const read = Array.isArray(values) ? Scalars.scalars.map(([text], index) => [text, values[index]]) : []
    expect(read).toEqual(Scalars.scalars.map((each) => [...each]))
  }).pipe(Effect.provide(NodeFileSystem.layer))
)
