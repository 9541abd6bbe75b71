/**
 * Reads JSON as kube-apiserver does: it knows the members that come twice and where, refuses what nests too deeply, and words
 * errors as Go's decoder. JavaScript's numbers set one limit: integers beyond 2^53 lose digits, and `1.0` is `1`.
 */
import * as Failure from "./Failure.ts"
import { type Draft, type DraftObject, type Json, put } from "./Json.ts"

/** What a text says. */
export interface Parsed {
  readonly value: Json
  /** `duplicate field "spec.a"`, in the order of the text. */
  readonly duplicates: ReadonlyArray<string>
  /** What is wrong with a number that is too large for any type, of which the text's grammar knows nothing. */
  readonly overflow: string | undefined
}

/** Reads a text. Throws a Failure (400) with Go's words for what is wrong. */
export const parse = (text: string): Parsed => {
  const parsed = scan(text)
  if (parsed.overflow !== undefined) throw Failure.badRequest(parsed.overflow)
  return parsed
}

/** Reads a text in which a number may be too large: it is not refused yet, but reported. Throws a Failure (400). */
export const scan = (text: string): Parsed => new Reader(text).read()

/** The most errors that are reported for one text. */
export const mostErrors = 100

/** `unknown field "spec.a"`, `duplicate field "spec.a"`. */
export const fieldError = (what: "unknown" | "duplicate", path: string): string =>
  `${what} field ${JSON.stringify(path)}`

/** A member's path, of the path of what it is in. */
export const memberPath = (path: string, name: string): string => (path === "" ? name : `${path}.${name}`)

/** The lists and objects that nest. Go's limit. */
const deepest = 10_000

/** A list or object that is being read; an object also knows which member is. */
type Frame = { readonly list: Array<Draft> } | { readonly object: DraftObject; key: string }

// An own stack: as deep as Go lets it nest, functions calling themselves could exhaust JavaScript's.
class Reader {
  private readonly text: string
  private at = 0
  private readonly frames: Array<Frame> = []
  private readonly duplicates = new Set<string>()
  private overflow: string | undefined

  constructor(text: string) {
    this.text = text
  }

  read(): Parsed {
    let value = this.value()
    for (;;) {
      if (value === undefined) {
        value = this.value()
        continue
      }
      const frame = this.frames.at(-1)
      if (frame === undefined) break
      value = this.into(frame, value)
    }
    this.skipSpace()
    if (this.at < this.text.length) throw this.unexpected("after top-level value")
    return { value, duplicates: [...this.duplicates], overflow: this.overflow }
  }

  /** A value that is complete, or undefined where a list or an object was begun that has something in it. */
  private value(): Draft | undefined {
    this.skipSpace()
    switch (this.text[this.at]) {
      case "{":
        return this.open({ object: {}, key: "" })
      case "[":
        return this.open({ list: [] })
      case '"':
        return this.string()
      case "t":
        return this.literal("true", true)
      case "f":
        return this.literal("false", false)
      case "n":
        return this.literal("null", null)
      case undefined:
        throw this.ended()
      default:
        return this.number()
    }
  }

  private open(frame: Frame): Draft | undefined {
    if (this.frames.length >= deepest) throw this.unexpected("exceeded max depth")
    this.at++
    this.skipSpace()
    if ("list" in frame) {
      if (this.skip("]")) return frame.list
    } else {
      if (this.skip("}")) return frame.object
      frame.key = this.key(frame.object)
    }
    this.frames.push(frame)
    return undefined
  }

  /** Puts a value where it belongs; gives the list or object if that was the last of it. */
  private into(frame: Frame, value: Draft): Draft | undefined {
    if ("list" in frame) frame.list.push(value)
    else put(frame.object, frame.key, value)
    this.skipSpace()
    const end = "list" in frame ? "]" : "}"
    if (this.skip(end)) {
      this.frames.pop()
      return "list" in frame ? frame.list : frame.object
    }
    if (!this.skip(",")) {
      if (this.at >= this.text.length) throw this.ended()
      throw this.unexpected("list" in frame ? "after array element" : "after object key:value pair")
    }
    if ("object" in frame) {
      this.skipSpace()
      frame.key = this.key(frame.object)
    }
    return undefined
  }

  /** A member's name and the colon. */
  private key(object: DraftObject): string {
    if (this.at >= this.text.length) throw this.ended()
    if (this.text[this.at] !== '"') throw this.unexpected("looking for beginning of object key string")
    const key = this.string()
    this.skipSpace()
    if (!this.skip(":")) {
      if (this.at >= this.text.length) throw this.ended()
      throw this.unexpected("after object key")
    }
    if (Object.hasOwn(object, key) && this.duplicates.size < mostErrors) {
      // The frame of a first member is not on the stack yet; but a first member is no second one.
      this.duplicates.add(fieldError("duplicate", memberPath(this.path(), key)))
    }
    return key
  }

  /** Where the object is that is being read. */
  private path(): string {
    return this.frames
      .slice(0, -1)
      .reduce((path, frame) => ("list" in frame ? `${path}[${frame.list.length}]` : memberPath(path, frame.key)), "")
  }

  private string(): string {
    const start = this.at++
    let escaped = false
    for (;;) {
      plain.lastIndex = this.at
      plain.test(this.text)
      this.at = plain.lastIndex
      const next = this.text[this.at]
      if (next === undefined) throw this.ended()
      if (next === '"') break
      if (next !== "\\") throw this.unexpected("in string literal")
      escaped = true
      this.escape()
    }
    this.at++
    // Half a surrogate pair is no text: Go, too, reads it as U+FFFD.
    return escaped
      ? String(JSON.parse(this.text.slice(start, this.at))).toWellFormed()
      : this.text.slice(start + 1, this.at - 1)
  }

  private escape(): void {
    this.at++
    const kind = this.text[this.at] ?? " "
    if (!'bfnrtu\\/"'.includes(kind)) throw this.unexpected("in string escape code")
    this.at++
    if (kind !== "u") return
    for (const end = this.at + 4; this.at < end; this.at++) {
      if (!/[0-9a-fA-F]/.test(this.text[this.at] ?? " ")) throw this.unexpected("in \\u hexadecimal character escape")
    }
  }

  private literal<Value extends boolean | null>(word: string, value: Value): Value {
    for (const letter of word) {
      if (this.text[this.at] !== letter) throw this.unexpected(`in literal ${word} (expecting '${letter}')`)
      this.at++
    }
    return value
  }

  private number(): number {
    numeric.lastIndex = this.at
    const [found = "", digits, fraction, exponent] = numeric.exec(this.text) ?? []
    if (found === "") throw this.unexpected("looking for beginning of value")
    this.at += found.length
    if (digits === undefined) throw this.unexpected("in numeric literal")
    if (fraction === ".") throw this.unexpected("after decimal point in numeric literal")
    if (exponent !== undefined && !/[0-9]/.test(exponent)) throw this.unexpected("in exponent of numeric literal")
    const value = Number(found)
    if (!Number.isFinite(value))
      this.overflow ??= `json: cannot unmarshal number ${found} into Go value of type float64`
    return value
  }

  private skip(token: string): boolean {
    const found = this.text[this.at] === token
    if (found) this.at++
    return found
  }

  private skipSpace(): void {
    space.lastIndex = this.at
    space.test(this.text)
    this.at = space.lastIndex
  }

  private ended(): Failure.Failure {
    return Failure.badRequest("unexpected end of JSON input")
  }

  /** Go shows an unexpected end of the text as a space. */
  private unexpected(context: string): Failure.Failure {
    return Failure.badRequest(`invalid character ${quoted(this.text.slice(this.at, this.at + 2) || " ")} ${context}`)
  }
}

const space = /[ \t\r\n]*/y
/** What may stand in a string as it is: all but quotation marks, backslashes and control characters. */
const plain = /[ !#-[\]-\uffff]*/y
const numeric = /-?(0|[1-9][0-9]*)?(\.[0-9]*)?([eE][+-]?[0-9]*)?/y

/** The first character, as Go shows the first byte of it. */
const quoted = (rest: string): string => {
  const first = String.fromCodePoint(rest.codePointAt(0) ?? 32)
  if (first === "'") return "'\\''"
  if (first === '"') return "'\"'"
  const byte = new TextEncoder().encode(first)[0] ?? 32
  if (byte < 0x20 || byte === 0x7f) return `'${controls[first] ?? `\\x${byte.toString(16).padStart(2, "0")}`}'`
  if (byte >= 0x80 && byte <= 0xa0) return `'\\u00${byte.toString(16)}'`
  return byte === 0x5c ? "'\\\\'" : `'${String.fromCharCode(byte)}'`
}

const controls: { readonly [character: string]: string } = {
  "\u0007": "\\a",
  "\b": "\\b",
  "\f": "\\f",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\v": "\\v"
}
