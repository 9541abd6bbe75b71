/**
 * The constructors of mutations: `Object{…}`, `Object.spec{…}` and `JSONPatch{…}`. The library does not know them. This module rewrites
 * them as calls of functions before the library compiles the expression.
 */
import type { Environment } from "@marcbachmann/cel-js"
import { Optional } from "@marcbachmann/cel-js"
import type { Json, JsonObject } from "../../model/Json.ts"
import { failure } from "./Value.ts"

/** An expression without constructors, and the types of its constructors. */
export interface Rewritten {
  readonly source: string
  readonly types: ReadonlySet<string>
}

/** An object that an expression constructs. */
export class Constructed {
  constructor(
    readonly type: string,
    readonly fields: ReadonlyMap<string, unknown>
  ) {}
}

interface Frame {
  readonly constructs: boolean
  /** Whether the reader is inside the value of a field. The rewritten value is in parentheses. */
  open: boolean
}

const text = /[rRbB]{0,2}(?:"""[\s\S]*?"""|'''[\s\S]*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')/y
const comment = /\/\/[^\n]*/y
const opening = /(Object(?:\.[A-Za-z_]\w*)*|JSONPatch)\s*\{/y
const field = /(\??)\s*`?([A-Za-z_][\w./-]*)`?\s*:/y
const word = /(?:\.\s*)?\w+/y

const at = (pattern: RegExp, source: string, index: number): RegExpExecArray | null => {
  pattern.lastIndex = index
  return pattern.exec(source)
}

const functionOf = (type: string): string => `construct_${type.replaceAll(".", "_")}`

/** Rewrites the constructors of an expression as calls of functions, which `register` declares. */
export const rewrite = (source: string): Rewritten => {
  const types = new Set<string>()
  const frames: Array<Frame> = []
  let result = ""
  let index = 0
  while (index < source.length) {
    const top = frames.at(-1)
    const begins = top?.constructs === true && !top.open ? at(field, source, index) : null
    const made = at(opening, source, index)
    const found = begins ?? made ?? at(text, source, index) ?? at(comment, source, index) ?? at(word, source, index)
    index += found?.[0].length ?? 1
    if (begins !== null && top !== undefined) {
      top.open = true
      result += `"${begins[1]}${begins[2]}": dyn(`
    } else if (made !== null) {
      const [, type = ""] = made
      types.add(type)
      frames.push({ constructs: true, open: false })
      result += `${functionOf(type)}({`
    } else if (found !== null) result += found[0]
    else result += stepped(source[index - 1] ?? "", frames)
  }
  return { source: result, types }
}

const stepped = (character: string, frames: Array<Frame>): string => {
  if ("([{".includes(character)) frames.push({ constructs: false, open: false })
  if (")]}".includes(character)) {
    const ended = frames.pop()
    return ended?.constructs === true ? `${ended.open ? ")" : ""}})` : character
  }
  const top = frames.at(-1)
  if (character !== "," || top?.constructs !== true || !top.open) return character
  top.open = false
  return "),"
}

const patchFields: ReadonlySet<string> = new Set(["op", "path", "from", "value"])

const construct =
  (type: string, constructed: new (type: string, fields: ReadonlyMap<string, unknown>) => Constructed) =>
  (given: ReadonlyMap<string, unknown> | { readonly [name: string]: unknown }): Constructed => {
    const fields = new Map<string, unknown>()
    for (const [name, value] of given instanceof Map ? given : Object.entries(given)) {
      if (!name.startsWith("?")) fields.set(name, value)
      else if (value instanceof Optional && value.hasValue()) fields.set(name.slice(1), value.value())
    }
    if (type === "JSONPatch") {
      for (const [name, value] of fields) {
        if (!patchFields.has(name)) throw failure(`unexpected JSONPatchType field: ${name}`)
        if (name !== "value" && typeof value !== "string") {
          throw failure(`unexpected type ${typeof value} for JSONPatchType '${name}' field`)
        }
      }
    }
    return new constructed(type, fields)
  }

class PatchNamespace {}

/** Declares the types and their constructors, and the function `jsonpatch.escapeKey`. */
export const register = (env: Environment, types: ReadonlySet<string>): Environment => {
  for (const type of new Set(["Object", "JSONPatch", ...types])) {
    const constructed = class extends Constructed {}
    env.registerType(type, constructed)
    env.registerFunction(`${functionOf(type)}(map<string, dyn>): ${type}`, construct(type, constructed))
  }
  env.registerType("JsonPatchNamespace", PatchNamespace)
  env.registerConstant("jsonpatch", "JsonPatchNamespace", new PatchNamespace())
  env.registerFunction("JsonPatchNamespace.escapeKey(string): string", (_: unknown, key: string) =>
    key.replaceAll("~", "~0").replaceAll("/", "~1")
  )
  return env
}

/** Converts the value of an expression to JSON. Throws an Error for a value that JSON cannot express. */
export const jsonOf = (value: unknown): Json => {
  if (typeof value === "bigint") return Number(value)
  if (value === null || typeof value === "string" || typeof value === "number" || typeof value === "boolean")
    return value
  if (value instanceof Constructed) return objectOf(value.fields)
  if (value instanceof Map) return objectOf(value)
  if (Array.isArray(value) || value instanceof Set) return Array.from(value, jsonOf)
  if (value instanceof Date) return value.toISOString().replace(/\.000Z$/, "Z")
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64")
  if (typeof value === "object" && Object.getPrototypeOf(value) === Object.prototype) {
    return objectOf(Object.entries(value))
  }
  throw failure("unsupported conversion to JSON")
}

const objectOf = (entries: Iterable<readonly [unknown, unknown]>): JsonObject =>
  Object.fromEntries(Array.from(entries, ([name, value]) => [String(name), jsonOf(value)]))

/** Returns the errors of objects whose type does not match their field: an `Object.spec` is valid only as `spec` of the root. */
export const misplaced = (value: unknown, path: string): ReadonlyArray<string> => {
  if (value instanceof Constructed) {
    const { fields, type } = value
    const own =
      type === path
        ? []
        : [`unexpected type name "${type}", expected "${path}", which matches field name path from root Object type`]
    return [...own, ...Array.from(fields, ([name, field]) => misplaced(field, `${path}.${name}`)).flat()]
  }
  if (Array.isArray(value)) return value.flatMap((one) => misplaced(one, path))
  return value instanceof Map ? Array.from(value.values(), (one) => misplaced(one, path)).flat() : []
}
