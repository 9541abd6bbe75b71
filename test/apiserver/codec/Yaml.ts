/**
 * Parses and encodes YAML as kube-apiserver does. Scalars have their go-yaml meaning (YAML 1.1: `yes` is true, `010` is 8).
 * Values that JSON cannot express are rejected. Only the first of several documents is read. Errors about duplicate members
 * include the line.
 */
import * as Yaml from "js-yaml"
import * as Failure from "../model/Failure.ts"
import * as Json from "../model/Json.ts"

/** The result of parsing a text. */
export interface Parsed {
  readonly value: Json.Json
  /** The duplicate members: `line 7: key "a" already set in map`. */
  readonly duplicates: ReadonlyArray<string>
}

/** Parses a text; an empty text results in null. Throws a Failure (400) if it is malformed. */
export const parse = (text: string): Parsed => {
  const json = plainJson(text)
  if (json !== undefined) return { value: sorted(json), duplicates: [] }
  const reader = new Reader(text, events(text))
  return { value: sorted(reader.document()), duplicates: reader.duplicates }
}

/** JSON in printable characters, without a merge key. Others have a special meaning in YAML. */
const plain = /^\{[\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd]*\}\s*$/

/**
 * The value of a text that is compact JSON, as clients send it; undefined for any other text. A text with duplicate members, with large numbers
 * or with another notation does not equal its encoding.
 */
const plainJson = (text: string): Json.Json | undefined => {
  if (!plain.test(text) || text.includes('"<<"')) return undefined
  try {
    const value: Json.Json = JSON.parse(text)
    return JSON.stringify(value) === text.trimEnd() && isShallow(value, 0) ? value : undefined
  } catch {
    return undefined
  }
}

/** The longest key that the YAML reader takes as a simple one. */
const longestKey = 1000

const isShallow = (value: Json.Json, depth: number): boolean => {
  if (typeof value !== "object" || value === null) return true
  if (depth >= 100) return false
  if (Json.isList(value)) return value.every((item) => isShallow(item, depth + 1))
  return Object.entries(value).every(
    ([key, member]) => key.length <= longestKey && isShallow(member ?? null, depth + 1)
  )
}

/** Encodes a value with sorted members and unindented lists. */
export const format = (value: Json.Json): string =>
  Yaml.dump(value, {
    noRefs: true,
    seqNoIndent: true,
    lineWidth: -1,
    sortKeys: true,
    transform: (documents) =>
      Yaml.visit(documents, (node) => {
        if (node.kind !== "scalar" || node.tag !== "tag:yaml.org,2002:str") return
        if (infinite.test(node.value) || time.test(node.value) || typeof scalar(node.value) !== "string")
          node.style = Yaml.SCALAR_STYLE.DOUBLE_QUOTED
      })
  })

/** A text that go-yaml would parse as a time. */
const time = /^\d{4}-\d\d?-\d\d?(?:[Tt]\d\d?:\d\d?:\d\d?(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)| \d\d?:\d\d?:\d\d?(?:\.\d+)?)?$/

/** The maximum nesting. It is lower than the 10,000 of go-yaml, because js-yaml recurses. */
const deepest = 1_000

/** The maximum number of values after the expansion of all aliases. */
const mostValues = 1_000_000

const events = (text: string): ReadonlyArray<Yaml.Event> => {
  try {
    return Yaml.parseEvents(text, { maxDepth: deepest })
  } catch (error) {
    if (!(error instanceof Yaml.YAMLException)) throw error
    throw malformed(error.mark === undefined ? error.reason : `line ${error.mark.line + 1}: ${error.reason}`)
  }
}

const malformed = (reason: string): Failure.Failure => Failure.badRequest(`yaml: ${reason}`)

/** A value and the number of values that it contains. */
interface Sized {
  readonly value: Json.Json
  readonly size: number
}

type Node = Exclude<Yaml.Event, Yaml.DocumentEvent | Yaml.PopEvent>

class Reader {
  readonly duplicates: Array<string> = []
  private readonly text: string
  private readonly events: ReadonlyArray<Yaml.Event>
  private readonly anchors = new Map<string, Sized>()
  private at = 0
  private values = 0

  constructor(text: string, events: ReadonlyArray<Yaml.Event>) {
    this.text = text
    this.events = events
  }

  document(): Json.Json {
    if (this.events[0]?.type !== Yaml.EVENT_ID.DOCUMENT) return null
    this.at = 1
    return this.node()?.value ?? null
  }

  /** Reads the next value; undefined at the end of the enclosing list, map or document. */
  private node(): Sized | undefined {
    const event = this.events[this.at++]
    if (event === undefined || event.type === Yaml.EVENT_ID.POP || event.type === Yaml.EVENT_ID.DOCUMENT)
      return undefined
    const before = this.values
    const value = this.valueOf(event)
    const sized = { value, size: this.values - before }
    if (event.type !== Yaml.EVENT_ID.ALIAS && event.anchorStart >= 0) {
      this.anchors.set(this.text.slice(event.anchorStart, event.anchorEnd), sized)
    }
    return sized
  }

  private valueOf(event: Node): Json.Json {
    this.count(1)
    switch (event.type) {
      case Yaml.EVENT_ID.ALIAS: {
        const name = this.text.slice(event.anchorStart, event.anchorEnd)
        const found = this.anchors.get(name)
        if (found === undefined) throw malformed(`unknown anchor '${name}' referenced`)
        this.count(found.size)
        return found.value
      }
      case Yaml.EVENT_ID.SCALAR:
        return this.scalar(event)
      case Yaml.EVENT_ID.SEQUENCE:
        return this.sequence()
      case Yaml.EVENT_ID.MAPPING:
        return this.mapping()
    }
  }

  private count(values: number): void {
    this.values += values
    if (this.values > mostValues) throw malformed("document contains excessive aliasing")
  }

  private scalar(event: Yaml.ScalarEvent): Json.Json {
    const text = Yaml.getScalarValue(this.text, event)
    const tag = event.tagStart < 0 ? "" : this.text.slice(event.tagStart, event.tagEnd)
    if (tag === "!!binary") return binary(text)
    const plain = event.style === Yaml.SCALAR_STYLE.PLAIN
    return (tag === "" && plain) || tag === "!!int" || tag === "!!float" || tag === "!!bool" || tag === "!!null"
      ? scalar(text)
      : text
  }

  private sequence(): ReadonlyArray<Json.Json> {
    const items: Array<Json.Json> = []
    for (let item = this.node(); item !== undefined; item = this.node()) items.push(item.value)
    return items
  }

  private mapping(): Json.JsonObject {
    const members = new Map<string, Json.Json>()
    const merged = new Map<string, Json.Json>()
    for (;;) {
      const event = this.events[this.at]
      const key = this.node()
      if (event === undefined || key === undefined) break
      const value = this.node()?.value ?? null
      if (isMerge(event, key.value)) {
        for (const [name, member] of mergedMembers(value)) merged.set(name, member)
        continue
      }
      const name = keyText(key.value)
      if (members.has(name)) {
        this.duplicates.push(
          `line ${this.line(event)}: key ${typeof key.value === "string" ? JSON.stringify(name) : name} already set in map`
        )
      }
      members.set(name, value)
    }
    return Object.fromEntries([...merged, ...members])
  }

  private line(event: Yaml.Event): number {
    const at = event.type === Yaml.EVENT_ID.SCALAR ? event.valueStart : 0
    return this.text.slice(0, at).split("\n").length
  }
}

const isMerge = (event: Yaml.Event, key: Json.Json): boolean =>
  key === "<<" && event.type === Yaml.EVENT_ID.SCALAR && event.style === Yaml.SCALAR_STYLE.PLAIN

const mergedMembers = (value: Json.Json): ReadonlyArray<[string, Json.Json]> => {
  if (Json.isList(value)) return value.toReversed().flatMap(mergedMembers)
  if (!Json.isObject(value)) throw malformed("map merge requires map or sequence of maps as the value")
  return Object.entries(value).flatMap(([name, member]) => (member === undefined ? [] : [[name, member]]))
}

const keyText = (key: Json.Json): string => {
  if (typeof key === "object") {
    throw malformed(key === null ? "unsupported map key of type: null" : `invalid map key: ${JSON.stringify(key)}`)
  }
  return String(key)
}

const binary = (text: string): string => {
  try {
    return new TextDecoder().decode(Uint8Array.from(atob(text), (character) => character.charCodeAt(0)))
  } catch {
    throw malformed("!!binary value contains invalid base64 data")
  }
}

const words = new Map<string, Json.Json>([
  ...["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"].map((word) => [word, true] as const),
  ...["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"].map((word) => [word, false] as const),
  ...["", "~", "null", "Null", "NULL"].map((word) => [word, null] as const)
])

/** Numbers that JSON cannot express. */
const infinite = /^(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/

/** Converts a plain scalar to the value that it has in go-yaml. */
const scalar = (text: string): Json.Json => {
  const word = words.get(text)
  if (word !== undefined) return word
  if (!/^[-+.0-9]/.test(text)) return text
  if (infinite.test(text)) {
    const value = /nan/i.test(text) ? "NaN" : text.startsWith("-") ? "-Inf" : "+Inf"
    throw Failure.badRequest(`json: unsupported value: ${value}`)
  }
  const digits = text.startsWith(".") ? text : text.replaceAll("_", "")
  const [, sign = "", body = ""] = /^([-+]?)(.*)$/s.exec(digits) ?? []
  const octal = /^0([0-7]+)$/.exec(body)?.[1]
  const whole = octal === undefined ? body.toLowerCase() : `0o${octal}`
  if (/^(?:0|[1-9]\d*|0x[0-9a-f]+|0o[0-7]+|0b[01]+)$/.test(whole)) return Number(whole) * (sign === "-" ? -1 : 1)
  return /^[-+]?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][-+]?\d+)?$/.test(digits) ? Number(digits) : text
}

/** Sorts the members: Go converts YAML to JSON through a map, which it encodes sorted. */
const sorted = (value: Json.Json): Json.Json => {
  if (Json.isList(value)) return value.map(sorted)
  if (!Json.isObject(value)) return value
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((name) => [name, sorted(value[name] ?? null)])
  )
}
