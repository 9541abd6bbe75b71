/** The rules of kubectl for plain scalars in YAML: those of YAML 1.1, except that numbers have no base 60. */
import type * as Yaml from "js-yaml"

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

/** The schema for the objects of a file. It also merges `<<`. */
export const schemaOf = (yaml: typeof Yaml): Yaml.Schema =>
  yaml.CORE_SCHEMA.withTags(
    yaml.mergeTag,
    yaml.boolYaml11Tag,
    { ...yaml.intCoreTag, resolve: (source) => integerOf(source) ?? yaml.NOT_RESOLVED },
    {
      ...yaml.floatCoreTag,
      resolve: (source, isExplicit, tagName) => yaml.floatCoreTag.resolve(plain(source), isExplicit, tagName)
    }
  )
