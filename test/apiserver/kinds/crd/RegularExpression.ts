/**
 * Regular expressions as Go reads them (RE2). JavaScript runs those that it can match in linear time, with a translated spelling, and a
 * port of Go's engine runs the others. Both accept and refuse the same syntax with Go's messages.
 */
import * as LinearExpression from "./LinearExpression.ts"
import * as Repetition from "./Repetition.ts"

/** A compiled expression, or the error of Go. */
export type Compiled = { readonly expression: LinearExpression.Expression } | { readonly problem: string }

/** Compiles an expression; the same one only once. */
export const compile = (pattern: string): Compiled => {
  const known = compiled.get(pattern)
  if (known !== undefined) return known
  if (compiled.size > 5000) compiled.clear()
  const made = translate(pattern)
  compiled.set(pattern, made)
  return made
}

/** Whether a text has a match anywhere. An expression that does not compile matches nothing. */
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

/** Groups need no names, which Go allows twice. */
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
      // Go leaves out an empty match at the end of the last one.
      if (match !== "" || index !== end) yield match
      end = index + match.length
    }
  }
})

/** One piece of an expression: an escape, a class, a group's opening, or a character. */
const piece =
  /\\Q(?:.*?)(?:\\E|$)|\\[pP](?:\{\^?\w+\}|\w)|\\x\{[0-9a-fA-F]+\}|\\.|\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\]|\(\?P?<\w+>|\(\?[^):]*[):]?|\{\d+(?:,\d*)?\}|[\s\S]/gu

/** The source of an equal RegExp; undefined: Go refuses the expression, or JavaScript cannot express it. */
const sourceOf = (pieces: ReadonlyArray<string>): string | undefined => {
  // JavaScript folds the case of what a class excludes, and Go does not.
  if (pieces.some((part) => /^\(\?[ms]*i/.test(part)) && pieces.some((part) => /\\(P|p\{\^)/.test(part)))
    return undefined
  let made = ""
  const dot = pieces.some((part) => /^\(\?[im]*s/.test(part)) ? "." : "[^\\n]"
  // How many groups `(?i)` has opened in each group that is open: they end where it does.
  const opened = [0]
  for (const [index, part] of pieces.entries()) {
    const flags = /^\(\?([ims]*(?:-[ims]+)?)\)$/.exec(part)?.[1]
    if (flags !== undefined) {
      // The group of the flags must not take in only a part of an alternative.
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
  // A brace that opens no count stands for itself in Go; so does a bracket that closes nothing.
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
  // JavaScript's strict reading allows no needless escapes.
  return /^\\[^\w\s]$/u.test(part) ? part.slice(1) : undefined
}

/** Go knows only these spaces. */
const space = "\\t\\n\\f\\r "
const notSpace = "\\0-\\x08\\x0b\\x0e-\\x1f!-\\u{10ffff}"

/** Go names scripts (`\p{Greek}`) and categories (`\p{Lu}`) alike. */
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
