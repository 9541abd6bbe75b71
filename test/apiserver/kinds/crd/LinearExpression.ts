/** Regular expressions in a port of Go's engine, which takes linear time. The port is loaded at its first use. */
import type * as Re2js from "re2js"

/** A compiled expression that finds matches anywhere in a text. */
export interface Expression {
  readonly test: (text: string) => boolean
  /** Returns the first match; undefined: the text has no match. */
  readonly find: (text: string) => string | undefined
  readonly findAll: (text: string) => Iterable<string>
}

/** Makes an expression, which is compiled at its first use. Its methods throw if the syntax is invalid. */
export const make = (pattern: string): Expression => {
  let compiled: Re2js.RE2JS | undefined
  const matcher = (text: string): Re2js.Matcher => {
    compiled ??= load().RE2JS.compile(pattern)
    return compiled.matcher(text)
  }
  const find = (text: string): string | undefined => {
    const found = matcher(text)
    return found.find() ? (found.group() ?? undefined) : undefined
  }
  return {
    test: (text) => matcher(text).find(),
    find,
    *findAll(text) {
      const found = matcher(text)
      let end = -1
      while (found.find()) {
        const match = found.group() ?? ""
        // Go leaves out an empty match at the end of the last match.
        if (match !== "" || found.start() !== end) yield match
        end = found.end()
      }
    }
  }
}

/**
 * Returns Go's error of an expression; undefined: the expression is valid. The library rejects two groups with the same name, but Go
 * accepts them, so this function then checks `withoutNames`.
 */
export const problemOf = (pattern: string, withoutNames: string): string | undefined => {
  const { RE2JS } = load()
  try {
    RE2JS.compile(pattern)
    return undefined
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    if (message.includes("duplicate capture group name")) return problemOf(withoutNames, withoutNames)
    // Go's message ends with the text after the backslash, which is empty.
    return message.endsWith("trailing backslash at end of expression") ? `${message}: \`\`` : message
  }
}

/** Loads the library at its first use. An import would load it when the program starts. */
const load = (): typeof Re2js => require("re2js")
