/** The root's `package.json`: what it says that matters to a new controller, and that controller among its dependencies. Pure. */
import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import type { Names } from "./Names.ts"

const Manifest = Schema.Struct({
  version: Schema.String,
  scripts: Schema.Record({ key: Schema.String, value: Schema.String }),
  dependencies: Schema.Record({ key: Schema.String, value: Schema.String })
})

/** What it says. */
export type Manifest = typeof Manifest.Type

// What else it says, and in which order, is kept for the writing.
const decode = Schema.decodeUnknownEither(Schema.parseJson(Manifest), {
  onExcessProperty: "preserve",
  propertyOrder: "original"
})

/** Reads it; the message of a refusal is the rest of a sentence that begins with the file. */
export const read = (text: string): Either.Either<Manifest, string> =>
  Either.mapLeft(decode(text), (error) => {
    const [issue] = ParseResult.ArrayFormatter.formatErrorSync(error)
    return `cannot be read: ${issue?.path.join(".") ?? ""}: ${issue?.message ?? error.message}`
  })

/** The text with the controller's module among the dependencies, in their order. */
export const add = (manifest: Manifest, names: Names): string => {
  const dependencies = { ...manifest.dependencies, [names.package]: "workspace:*" }
  const sorted = Object.entries(dependencies).sort(([one], [other]) => (one < other ? -1 : 1))
  return `${JSON.stringify({ ...manifest, dependencies: Object.fromEntries(sorted) }, undefined, 2)}\n`
}
