/**
 * Regular expressions in Go's syntax (RE2). JavaScript runs a translation of each expression that it can match in linear time. A port of
 * Go's engine runs the others. Both accept and reject the same syntax, with Go's messages.
 */
import * as LinearExpression from "./LinearExpression.ts"
import * as Repetition from "./Repetition.ts"

/** A compiled expression, or Go's error. */
export type Compiled = { readonly expression: LinearExpression.Expression } | { readonly problem: string }

/** Compiles an expression, with a cache. Returns a `problem` with Go's error if the syntax is invalid. */
export const compile = (pattern: string): Compiled => {
  const known = compiled.get(pattern)
  if (known !== undefined) return known
  if (compiled.size > 5000) compiled.clear()
  const made = translate(pattern)
  compiled.set(pattern, made)
  return made
}

/** Whether an expression matches anywhere in a text. An invalid expression does not match. */
export const matches = (pattern: string, text: string): boolean => {
  const found = compile(pattern)
  return "expression" in found && found.expression.test(text)
}

const compiled = new Map<string, Compiled>()

const translate = (pattern: string): Compiled => {
  const pieces = Array.from(pattern.matchAll(piece), ([part]) => part)
  const repetition = Repetition.of(pieces)
  const withoutNames = pieces.map(unnamed).join("")
  const regExp = repetition === "invalid" ? undefined : regExpOf(pieces)
  if (regExp === undefined) {
    const problem = LinearExpression.problemOf(pattern, withoutNames)
    if (problem !== undefined) return { problem }
  }
  const isNative = repetition === "linear" && regExp !== undefined
  return { expression: isNative ? native(regExp) : LinearExpression.make(withoutNames) }
}

/** Removes the name of a group. Go allows a name twice, and the matches do not use names. */
const unnamed = (part: string): string => (named.test(part) ? "(" : part)

const named = /^\(\?P?<\w+>$/

const regExpOf = (pieces: ReadonlyArray<string>): RegExp | undefined => {
  const source = sourceOf(pieces)
  if (source === undefined) return undefined
  try {
    return new RegExp(source, "u")
  } catch {
    return undefined
  }
}

const native = (regExp: RegExp): LinearExpression.Expression => ({
  test: (text) => regExp.test(text),
  find: (text) => regExp.exec(text)?.[0],
  *findAll(text) {
    let end = -1
    for (const { 0: match, index } of text.matchAll(new RegExp(regExp.source, "gu"))) {
      // Go leaves out an empty match at the end of the last match.
      if (match !== "" || index !== end) yield match
      end = index + match.length
    }
  }
})

/** One piece of an expression: an escape, a class, a group's opening, or a character. */
const piece =
  /\\Q(?:.*?)(?:\\E|$)|\\[pP](?:\{\^?\w+\}|\w)|\\x\{[0-9a-fA-F]+\}|\\.|\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\]|\(\?P?<\w+>|\(\?[^):]*[):]?|\{\d+(?:,\d*)?\}|[\s\S]/gu

/** Returns the source of an equal RegExp; undefined: Go rejects the expression, or JavaScript cannot express it. */
const sourceOf = (pieces: ReadonlyArray<string>): string | undefined => {
  // JavaScript folds the case of the characters that a class excludes, and Go does not.
  if (pieces.some((part) => /^\(\?[ms]*i/.test(part)) && pieces.some((part) => /\\(P|p\{\^)/.test(part)))
    return undefined
  let made = ""
  const dot = pieces.some((part) => /^\(\?[im]*s/.test(part)) ? "." : "[^\\n]"
  // For each open group, how many groups its flags like `(?i)` have opened. They end with the group.
  const opened = [0]
  for (const [index, part] of pieces.entries()) {
    const flags = /^\(\?([ims]*(?:-[ims]+)?)\)$/.exec(part)?.[1]
    if (flags !== undefined) {
      // The group of the flags must not start inside one of several alternatives.
      const isFirst = index === 0 || /^(\(|\|)/.test(pieces[index - 1] ?? "")
      if (!isFirst && pieces.includes("|", index)) return undefined
      made += `(?${flags}:`
      opened.push((opened.pop() ?? 0) + 1)
      continue
    }
    if (part === ")" && opened.length > 1) made += ")".repeat(opened.pop() ?? 0)
    else if (part.startsWith("(")) opened.push(0)
    const translated = part === "." ? dot : pieceOf(part)
    if (translated === undefined) return undefined
    made += translated
  }
  return `${made}${")".repeat(opened[0] ?? 0)}`
}

const pieceOf = (part: string): string | undefined => {
  if (part.startsWith("[") && part.length > 1) return classOf(part)
  if (part.startsWith("\\Q")) return part.replace(/^\\Q|\\E$/g, "").replace(/[$()*+./?[\\\]^{|}-]/g, "\\$&")
  if (named.test(part)) return "("
  if (part.startsWith("(?")) return /^\(\?[ims]*(?:-[ims]+)?:$/.test(part) ? part : undefined
  if (part.startsWith("\\")) return escapeOf(part)
  // Go reads a brace without a count as a literal, and also a bracket that closes no class.
  if (part === "]" || part === "{" || part === "}") return `\\${part}`
  return part
}

const classOf = (part: string): string | undefined => {
  let isKnown = true
  const inside = part
    .slice(1, -1)
    .replace(
      /\[:(\^?)(\w+):\]|\\x\{[0-9a-fA-F]+\}|\\[pP]\{\^?\w+\}|\\.|[[\]]/gsu,
      (each, not: string | undefined, name: string | undefined) => {
        const translated = inClass(each, not, name)
        isKnown &&= translated !== undefined
        return translated ?? ""
      }
    )
  return isKnown ? `[${inside.replace(/^(\^?)\]/, "$1\\]")}]` : undefined
}

const inClass = (part: string, not: string | undefined, name: string | undefined): string | undefined => {
  if (name !== undefined) return not === "^" ? undefined : posix[name]
  if (part === "[" || part === "]") return `\\${part}`
  if (part === "\\s") return space
  if (part === "\\S") return notSpace
  return /^\\[AbBz]$/.test(part) ? undefined : escapeOf(part)
}

const escapeOf = (part: string): string | undefined => {
  if (part === "\\A") return "(?<![\\s\\S])"
  if (part === "\\z") return "(?![\\s\\S])"
  if (part === "\\a") return "\\x07"
  if (part === "\\s" || part === "\\S") return `[${part === "\\s" ? space : notSpace}]`
  if (/^\\x\{/.test(part)) return `\\u${part.slice(2)}`
  if (/^\\[pP]\w$/.test(part)) return `${part.slice(0, 2)}{${part.slice(2)}}`
  if (/^\\[pP]\{/.test(part)) return scriptOf(part)
  if (/^\\[bBdDfnrtvwWx]$/.test(part)) return part
  if (part === "\\-") return "\\x2d"
  if (/^\\[$()*+./?[\\\]^{|}]$/.test(part)) return part
  // JavaScript rejects needless escapes with the flag `u`.
  return /^\\[^\w\s]$/u.test(part) ? part.slice(1) : undefined
}

/** Go's `\s` matches only these characters. */
const space = "\\t\\n\\f\\r "
const notSpace = "\\0-\\x08\\x0b\\x0e-\\x1f!-\\u{10ffff}"

/** Translates a script or a category. Go has one syntax for scripts (`\p{Greek}`) and categories (`\p{Lu}`). */
const scriptOf = (part: string): string => {
  const [, letter, not, name = ""] = /^\\([pP])\{(\^?)(\w+)\}$/.exec(part) ?? []
  const isNegative = (letter === "P") !== (not === "^")
  return `\\${isNegative ? "P" : "p"}{${name.length <= 2 ? "" : "Script="}${name}}`
}

const posix: { readonly [name: string]: string } = {
  alnum: "0-9A-Za-z",
  alpha: "A-Za-z",
  ascii: "\\x00-\\x7F",
  blank: "\\t ",
  cntrl: "\\x00-\\x1F\\x7F",
  digit: "0-9",
  graph: "!-~",
  lower: "a-z",
  print: " -~",
  punct: "!-\\/:-@\\[-`\\{-~",
  space: "\\t\\n\\v\\f\\r ",
  upper: "A-Z",
  word: "0-9A-Za-z_",
  xdigit: "0-9A-Fa-f"
}
