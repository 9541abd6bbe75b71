/**
 * Regular expressions as Go reads them (RE2), run by JavaScript: what differs in spelling is translated, what JavaScript
 * knows and Go does not (look-around, back references) is refused with Go's words.
 *
 * One difference stays: JavaScript tries one way after the other, so that an expression like `^(a+)+$` takes twice as long for
 * each further letter of a text that nearly fits, where Go's takes as long as the text is. Who writes a CRD decides that.
 */

/** A compiled expression, or Go's complaint. */
export type Compiled = { readonly regExp: RegExp } | { readonly problem: string }

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
  return "regExp" in found && found.regExp.test(text)
}

const compiled = new Map<string, Compiled>()

const translate = (pattern: string): Compiled => {
  const translated = body(pattern)
  if (typeof translated !== "string") return translated
  try {
    return { regExp: new RegExp(translated, "u") }
  } catch (error) {
    return { problem: complaint(pattern, error instanceof Error ? error.message : String(error)) }
  }
}

const problem = (what: string, where: string): string => `error parsing regexp: ${what}: \`${where}\``

/** One piece of an expression: an escape, a class, a group's opening, or a character. */
const piece =
  /\\Q(?:.*?)(?:\\E|$)|\\[pP](?:\{\^?\w+\}|\w)|\\x\{[0-9a-fA-F]+\}|\\.|\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]])*\]|\(\?[^):]*[):]?|\{\d+(?:,\d*)?\}|[\s\S]/gu

const body = (pattern: string): string | { readonly problem: string } => {
  let made = ""
  // How many groups `(?i)` has opened in each group that is open: they end where it does.
  const opened = [0]
  for (const [part] of pattern.matchAll(piece)) {
    const flags = /^\(\?([ims]*(?:-[ims]+)?)\)$/.exec(part)?.[1]
    if (flags !== undefined) {
      made += `(?${flags}:`
      opened.push((opened.pop() ?? 0) + 1)
      continue
    }
    if (part === ")" && opened.length > 1) made += ")".repeat(opened.pop() ?? 0)
    else if (part.startsWith("(")) opened.push(0)
    const translated = pieceOf(part)
    if (typeof translated !== "string") return translated
    made += translated
  }
  return `${made}${")".repeat(opened[0] ?? 0)}`
}

const pieceOf = (part: string): string | { readonly problem: string } => {
  if (part.startsWith("[") && part.length > 1)
    return `[${part
      .slice(1, -1)
      .replace(/\[:(\^?)(\w+):\]|\\.|[[\]]/gu, inClass)
      .replace(/^(\^?)\]/, "$1\\]")}]`
  if (part.startsWith("\\Q")) return part.replace(/^\\Q|\\E$/g, "").replace(/[$()*+./?[\\\]^{|}-]/g, "\\$&")
  if (part.startsWith("(?")) return groupOf(part)
  if (part.startsWith("\\")) return escapeOf(part)
  // A brace that opens no count stands for itself in Go; so does a bracket that closes nothing.
  if (part === "]" || part === "{" || part === "}") return `\\${part}`
  return part
}

const inClass = (part: string, not: string | undefined, name: string | undefined): string => {
  if (name !== undefined) return `${not === "^" ? "^" : ""}${posix[name] ?? ""}`
  if (part === "[" || part === "]") return `\\${part}`
  const escaped = escapeOf(part)
  return typeof escaped === "string" ? escaped : part
}

const groupOf = (part: string): string | { readonly problem: string } => {
  if (part.startsWith("(?=") || part.startsWith("(?!") || part.startsWith("(?<=") || part.startsWith("(?<!")) {
    return { problem: problem("invalid or unsupported Perl syntax", part.slice(0, part[2] === "<" ? 4 : 3)) }
  }
  return part.replace(/^\(\?P</, "(?<")
}

const escapeOf = (part: string): string | { readonly problem: string } => {
  if (part === "\\A") return "(?<![\\s\\S])"
  if (part === "\\z") return "(?![\\s\\S])"
  if (part === "\\a") return "\\x07"
  if (/^\\x\{/.test(part)) return `\\u${part.slice(2)}`
  if (/^\\[pP]\w$/.test(part)) return `${part.slice(0, 2)}{${part.slice(2)}}`
  if (/^\\[pP]\{/.test(part)) return scriptOf(part)
  if (/^\\[1-9ckuCGHRXZ]$/.test(part)) return { problem: problem("invalid escape sequence", part) }
  // JavaScript's strict reading allows no needless escapes.
  if (/^\\[^\w$()*+./?[\\\]^{|}-]$/u.test(part)) return part.slice(1)
  return part === "\\-" ? "\\x2d" : part
}

/** Go names scripts (`\p{Greek}`) and categories (`\p{Lu}`) alike. */
const scriptOf = (part: string): string => {
  const name = part.slice(3, -1)
  return name.length <= 2 ? part : `${part.slice(0, 3)}Script=${name}}`
}

const complaint = (pattern: string, message: string): string => {
  if (/Unterminated group|missing \)/i.test(message)) return problem("missing closing )", pattern)
  if (/Unmatched|parenthes/i.test(message)) return problem("unexpected )", pattern)
  if (/character class|missing terminating \]/i.test(message))
    return problem("missing closing ]", pattern.slice(Math.max(0, pattern.indexOf("["))))
  if (/nothing to repeat/i.test(message))
    return problem("missing argument to repetition operator", /[*+?]/.exec(pattern)?.[0] ?? pattern)
  return problem("invalid or unsupported Perl syntax", pattern)
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
