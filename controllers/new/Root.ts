/** The root's `package.json`: reads the facts for a new controller, and adds the controller to the dependencies. Pure. */
import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import type { Names } from "./Names.ts"

const Manifest = Schema.Struct({
  version: Schema.String,
  scripts: Schema.Record({ key: Schema.String, value: Schema.String }),
  dependencies: Schema.Record({ key: Schema.String, value: Schema.String })
})

/** The facts for a new controller. */
export type Manifest = typeof Manifest.Type

// Other fields keep their text and order.
const decode = Schema.decodeUnknownEither(Schema.parseJson(Manifest), {
  onExcessProperty: "preserve",
  propertyOrder: "original"
})

/** Parses the file. Left: the rest of a sentence that starts with the file. */
export const read = (text: string): Either.Either<Manifest, string> =>
  Either.mapLeft(decode(text), (error) => {
    const [issue] = ParseResult.ArrayFormatter.formatErrorSync(error)
    return `cannot be read: ${issue?.path.join(".") ?? ""}: ${issue?.message ?? error.message}`
  })

/** The text with the controller's module added to the sorted dependencies. */
export const add = (manifest: Manifest, names: Names): string => {
  const dependencies = { ...manifest.dependencies, [names.package]: "workspace:*" }
  const sorted = Object.entries(dependencies).sort(([one], [other]) => (one < other ? -1 : 1))
  return `${JSON.stringify({ ...manifest, dependencies: Object.fromEntries(sorted) }, undefined, 2)}\n`
}
