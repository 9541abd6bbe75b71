/**
 * Parses JSON as kube-apiserver does. It reports duplicate fields with their paths, rejects deep nesting, and returns the
 * error messages of Go's decoder. JavaScript numbers set one limit: integers beyond 2^53 lose digits, and `1.0` is `1`.
 */
import * as Failure from "./Failure.ts"
import { type Draft, type DraftObject, type Json, put } from "./Json.ts"

/** The result of parsing a text. */
export interface Parsed {
  readonly value: Json
  /** The duplicate fields, in the order of the text: `duplicate field "spec.a"`. */
  readonly duplicates: ReadonlyArray<string>
  /** The error of a number that is too large for every Go type, although its syntax is valid. */
  readonly overflow: string | undefined
}

/** Parses a text. Throws a Failure (400) with the message of Go's decoder. */
export const parse = (text: string): Parsed => {
  const parsed = scan(text)
  if (parsed.overflow !== undefined) throw Failure.badRequest(parsed.overflow)
  return parsed
}

/** Parses a text. Reports a number that is too large in `overflow` instead of an error. Throws a Failure (400) for other errors. */
export const scan = (text: string): Parsed => new Reader(text).read()

/** The maximum number of errors that are reported for one text. */
export const mostErrors = 100

/** Returns the message of a strict decoding error: `unknown field "spec.a"`, `duplicate field "spec.a"`. */
export const fieldError = (what: "unknown" | "duplicate", path: string): string =>
  `${what} field ${JSON.stringify(path)}`

/** Returns the path of a member, given the path of its object. */
export const memberPath = (path: string, name: string): string => (path === "" ? name : `${path}.${name}`)

/** Go's limit of nested lists and objects. */
const deepest = 10_000

/** A list or object that is being parsed. `key` is the current member of an object. */
type Frame = { readonly list: Array<Draft> } | { readonly object: DraftObject; key: string }

// The reader keeps its own stack: recursion up to Go's nesting limit could overflow the JavaScript stack.
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

  /** Returns a complete value, or undefined after the start of a non-empty list or object. */
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

  /** Adds a value to its list or object. Returns the list or object if the value was its last. */
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

  /** Reads the name of a member and the colon. */
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
      // The frame of an object is not on the stack during its first member, but the first member cannot be a duplicate.
      this.duplicates.add(fieldError("duplicate", memberPath(this.path(), key)))
    }
    return key
  }

  /** Returns the path of the current object. */
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
    // Like Go, the reader replaces half a surrogate pair by U+FFFD.
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
/** The characters that a string may contain without an escape: all but quotation marks, backslashes and control characters. */
const plain = /[ !#-[\]-\uffff]*/y
const numeric = /-?(0|[1-9][0-9]*)?(\.[0-9]*)?([eE][+-]?[0-9]*)?/y

/** Quotes the first character as Go does, which quotes its first byte. */
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
