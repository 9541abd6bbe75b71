/** Regular expressions in a port of Go's engine, which takes linear time. It is loaded only when it is needed. */
import type * as Re2js from "re2js"

/** An expression that looks for matches anywhere in a text. */
export interface Expression {
  readonly test: (text: string) => boolean
  /** The first match. */
  readonly find: (text: string) => string | undefined
  readonly findAll: (text: string) => Iterable<string>
}

/** An expression. Its methods throw if the syntax is invalid. */
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
        // Go leaves out an empty match at the end of the last one.
        if (match !== "" || found.start() !== end) yield match
        end = found.end()
      }
    }
  }
}

/** The error of Go about an expression; undefined: it is valid. The library refuses a name that two groups have, and Go does not. */
export const problemOf = (pattern: string, withoutNames: string): string | undefined => {
  const { RE2JS } = load()
  try {
    RE2JS.compile(pattern)
    return undefined
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    if (message.includes("duplicate capture group name")) return problemOf(withoutNames, withoutNames)
    // Go shows what follows the backslash: nothing.
    return message.endsWith("trailing backslash at end of expression") ? `${message}: \`\`` : message
  }
}

/** An import would load the library with the program. */
const load = (): typeof Re2js => require("re2js")
