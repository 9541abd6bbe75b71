/** The objects of files and folders in YAML or JSON, as `kubectl apply -f` reads them. */
import { join } from "node:path"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import { FileSystem } from "effect/FileSystem"
import * as Result from "effect/Result"
import type { Manifest } from "../plan/Manifests.ts"
import * as FileText from "./FileText.ts"
import * as ManifestYaml from "./ManifestYaml.ts"

/** A file cannot be used. The message names the flag and the file. */
export class InvalidFile extends Data.TaggedError("InvalidFile")<{ readonly message: string }> {}

/** The text of a file, or of standard input for `-`. The message of an error names the flag. */
export const read = (flag: string, path: string): Effect.Effect<string, InvalidFile, FileSystem> =>
  Effect.mapError(FileText.readOrInput(path), (problem) => new InvalidFile({ message: `--${flag}: ${problem}` }))

const isManifest = (value: unknown): value is Manifest => {
  if (typeof value !== "object" || value === null) return false
  const metadata: unknown = Reflect.get(value, "metadata")
  const isNamed = typeof metadata === "object" && metadata !== null && typeof Reflect.get(metadata, "name") === "string"
  return isNamed && ["apiVersion", "kind"].every((field) => typeof Reflect.get(value, field) === "string")
}

/** The objects of a document: itself, or the items of a list such as `List` and `DeploymentList`. */
const itemsOf = (value: unknown): ReadonlyArray<unknown> => {
  if (value === undefined || value === null) return []
  const isList = typeof value === "object" && String(Reflect.get(value, "kind")).endsWith("List")
  const items: unknown = isList ? Reflect.get(value, "items") : undefined
  return Array.isArray(items) ? items : [value]
}

const objectsOf = (path: string) =>
  Effect.gen(function* () {
    const text = yield* read("filename", path)
    const yaml = yield* Effect.promise(() => import("js-yaml"))
    const documents = yield* Effect.fromResult(
      Result.mapError(
        ManifestYaml.documentsOf(yaml, text),
        (reason) => new InvalidFile({ message: `--filename: ${path} ${reason}` })
      )
    )
    return yield* Effect.forEach(documents.flatMap(itemsOf), (item) =>
      isManifest(item)
        ? Effect.succeed(item)
        : new InvalidFile({ message: `--filename: ${path} has an object without apiVersion, kind and metadata.name` })
    )
  })

/** A file itself; of a folder, the files in YAML or JSON, without those of its folders. */
const filesOf = (path: string) =>
  Effect.gen(function* () {
    if (path === "-") return [path]
    if (/^https?:\/\//.test(path)) {
      return yield* new InvalidFile({
        message: `--filename: ${path} is a URL (download it, or pipe it to --filename=-)`
      })
    }
    const fs = yield* FileSystem
    const names = yield* Effect.option(fs.readDirectory(path))
    if (names._tag === "None") return [path]
    const files = names.value.filter((name) => /\.(json|ya?ml)$/.test(name)).toSorted()
    return files.length === 0
      ? yield* new InvalidFile({ message: `--filename: ${path} has no file in YAML or JSON (.yaml, .yml or .json)` })
      : files.map((name) => join(path, name))
  })

/** The objects of files and folders, in their order. None without a path; otherwise at least one object is required. */
export const objectsIn = (
  paths: ReadonlyArray<string>
): Effect.Effect<ReadonlyArray<Manifest>, InvalidFile, FileSystem> =>
  Effect.gen(function* () {
    const files = (yield* Effect.forEach(paths, filesOf)).flat()
    const objects = (yield* Effect.forEach(files, objectsOf)).flat()
    return paths.length > 0 && objects.length === 0
      ? yield* new InvalidFile({ message: `--filename: ${paths.join(", ")} has no objects` })
      : objects
  })
