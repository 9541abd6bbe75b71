/**
 * The documents of a file, as kubectl reads them. Plain scalars follow YAML 1.1, except that numbers have no base 60. Aliases are limited,
 * so that a document costs no more than its length.
 */
import * as Result from "effect/Result"
import type * as Yaml from "js-yaml"
import * as FieldPath from "../webhook/FieldPath.ts"

/** An integer as in Go: decimal, octal (`010`, `0o10`), hexadecimal (`0x8`) or binary (`0b1000`). */
const integer = /^([-+]?)(?:0x([\da-f]+)|0b([01]+)|0o?([0-7]+)|([1-9]\d*|0))$/i

/** A number without the underscores between its digits. */
const plain = (source: string): string => source.replaceAll("_", "")

const integerOf = (source: string): number | undefined => {
  const parts = integer.exec(plain(source))
  if (parts === null) return undefined
  const [, sign, hexadecimal, binary, octal, decimal = ""] = parts
  const value =
    hexadecimal !== undefined
      ? Number.parseInt(hexadecimal, 16)
      : binary !== undefined
        ? Number.parseInt(binary, 2)
        : octal !== undefined
          ? Number.parseInt(octal, 8)
          : Number(decimal)
  return sign === "-" && value !== 0 ? -value : value
}

/** It also merges `<<`. */
const schemaOf = (yaml: typeof Yaml): Yaml.Schema =>
  yaml.CORE_SCHEMA.withTags(
    yaml.mergeTag,
    yaml.boolYaml11Tag,
    { ...yaml.intCoreTag, resolve: (source) => integerOf(source) ?? yaml.NOT_RESOLVED },
    {
      ...yaml.floatCoreTag,
      resolve: (source, isExplicit, tagName) => yaml.floatCoreTag.resolve(plain(source), isExplicit, tagName)
    }
  )

/** The characters that aliases may add to a text: as many as the API server accepts in a request. */
const mostAdded = 3 * 1024 * 1024

/** The nesting of a document. That of a text is at most 100, but aliases add up. */
const deepest = 1000

/** The length of a value with its aliases expanded, which without aliases is at most that of its text; and its nesting. */
interface Extent {
  readonly length: number
  readonly depth: number
}

const excessive = `document contains excessive aliasing (aliases must add at most ${mostAdded} characters and ${deepest} levels)`

/** The error of a document whose aliases lead to themselves or beyond the limits. It looks at a value with several aliases once. */
const excess = (document: unknown, text: string): string | undefined => {
  const extents = new Map<object, Extent | undefined>()
  const of = (value: unknown, level: number): Extent | string => {
    if (typeof value === "string") return { length: value.length, depth: 0 }
    if (typeof value !== "object" || value === null) return { length: 1, depth: 0 }
    if (extents.has(value)) return extents.get(value) ?? "an alias leads to a value that contains it"
    if (level > deepest) return excessive
    extents.set(value, undefined)
    let [length, depth] = [1, 1]
    for (const [name, member] of Object.entries(value)) {
      const inner = of(member, level + 1)
      if (typeof inner === "string") return inner
      length += inner.length + (Array.isArray(value) ? 0 : name.length)
      depth = Math.max(depth, inner.depth + 1)
    }
    extents.set(value, { length, depth })
    return { length, depth }
  }
  const whole = of(document, 0)
  if (typeof whole === "string") return whole
  return whole.length - text.length > mostAdded || whole.depth > deepest ? excessive : undefined
}

/** The documents of a text, or one line with the reason why it has none. */
export const documentsOf = (yaml: typeof Yaml, text: string): Result.Result<ReadonlyArray<unknown>, string> => {
  const reasonOf = (error: unknown): string =>
    `is not YAML: ${(error instanceof Error ? error.message : String(error)).split("\n", 1)[0]}`
  return Result.flatMap(
    Result.try({ try: () => yaml.loadAll(text, { schema: schemaOf(yaml) }), catch: reasonOf }),
    (documents) => {
      for (const document of documents) {
        const reason = excess(document, text)
        if (reason !== undefined) return Result.fail(`cannot be read: ${reason}`)
        const hidden = FieldPath.prototype(document)
        if (hidden !== undefined) return Result.fail(`has an unsupported field: ${hidden} (choose another name)`)
      }
      return Result.succeed(documents)
    }
  )
}
