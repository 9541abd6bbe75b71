/** The root's `package.json`: reads the facts for a new controller, and adds the controller to the dependencies. Pure. */
import * as Issues from "@homeostat/runtime/resource/Issues"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaParser from "effect/SchemaParser"
import type { Names } from "./Names.ts"

const Manifest = Schema.Struct({
  version: Schema.String,
  scripts: Schema.Record(Schema.String, Schema.String),
  dependencies: Schema.Record(Schema.String, Schema.String)
})

/** The facts for a new controller. */
export type Manifest = typeof Manifest.Type

const isManifest = Schema.is(Manifest)
const decode = SchemaParser.decodeUnknownResult(Manifest, Issues.detailed)

const parse = (text: string): Result.Result<unknown, string> =>
  Result.try({
    try: () => JSON.parse(text),
    catch: (error) => (error instanceof Error ? error.message : String(error))
  })

/** Why a value is not a manifest: the first invalid field. */
const problemOf = (value: unknown): Result.Result<Manifest, string> =>
  Result.mapError(decode(value), (issue) => {
    const [first] = Issues.issuesOf(issue)
    return `${first?.path.join(".") ?? ""}: ${first?.message ?? "is invalid"}`
  })

/** Parses the file; other fields keep their order. Failure: the rest of a sentence that starts with the file. */
export const read = (text: string): Result.Result<Manifest, string> =>
  parse(text).pipe(
    Result.mapError((message) => `: ${message}`),
    Result.flatMap((value) => (isManifest(value) ? Result.succeed(value) : problemOf(value))),
    Result.mapError((problem) => `cannot be read: ${problem}`)
  )

/** The text with the controller's module added to the sorted dependencies. */
export const add = (manifest: Manifest, names: Names): string => {
  const dependencies = { ...manifest.dependencies, [names.package]: "workspace:*" }
  const sorted = Object.entries(dependencies).sort(([one], [other]) => (one < other ? -1 : 1))
  return `${JSON.stringify({ ...manifest, dependencies: Object.fromEntries(sorted) }, undefined, 2)}\n`
}
