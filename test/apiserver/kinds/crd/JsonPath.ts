/**
 * JSONPath as in kubectl and in the columns of custom resources: members, indexes, slices, wildcards, unions, filters and recursive
 * descent. The parser rejects `range` and `end`, which only templates have.
 */
import * as Failure from "../../model/Failure.ts"
import * as GoText from "../../model/GoText.ts"
import * as Json from "../../model/Json.ts"

/** A parsed path. */
export type JsonPath = ReadonlyArray<Step>

type Step =
  | { readonly step: "member"; readonly name: string }
  | { readonly step: "every" }
  | { readonly step: "descend" }
  | {
      readonly step: "slice"
      readonly from: number | undefined
      readonly to: number | undefined
      readonly by: number
      readonly single: boolean
    }
  | { readonly step: "union"; readonly paths: ReadonlyArray<JsonPath> }
  | { readonly step: "filter"; readonly left: JsonPath; readonly operator: string; readonly right: JsonPath }
  | { readonly step: "value"; readonly value: Json.Json }

/**
 * Parses a path: `.spec.containers[0].image`, `.status.conditions[?(@.type=="Ready")].status`. Throws a Failure (400) if the syntax is
 * invalid.
 */
export const parse = (text: string): JsonPath => {
  const steps: Array<Step> = []
  let at = 0
  while (at < text.length) {
    const rest = text.slice(at)
    const read = token(rest)
    if (read === undefined)
      throw Failure.badRequest(`cannot understand ${JSON.stringify(rest)} in the JSONPath ${JSON.stringify(text)}`)
    steps.push(...read.steps)
    at += read.length
  }
  return steps
}

/**
 * Returns the values at a path, or an empty list if a member is missing. Returns undefined if a step fails, for example at an index
 * beyond the end of a list.
 */
export const find = (path: JsonPath, value: Json.Json): ReadonlyArray<Json.Json> | undefined => {
  let found: ReadonlyArray<Json.Json> = [value]
  for (const step of path) {
    const next: Array<Json.Json> = []
    for (const from of found) {
      const values = follow(step, from)
      if (values === undefined) return undefined
      for (const one of values) next.push(one)
    }
    found = next
  }
  return found
}

/** Prints a value as kubectl's JSONPath does: objects and lists as JSON, numbers as in Go. */
export const print = (value: Json.Json): string => {
  if (value === null) return "<no value>"
  return typeof value === "object" ? GoText.json(value) : GoText.plain(value)
}

interface Token {
  readonly steps: ReadonlyArray<Step>
  readonly length: number
}

const token = (text: string): Token | undefined => {
  const first = text.charAt(0)
  if (first === " " || first === "@" || first === "$") return { steps: [], length: 1 }
  if (text.startsWith("[?(")) return filter(text)
  if (first === "[") return brackets(text)
  if (text.startsWith("..")) return descent(text)
  if (first === ".") return member(text)
  return literal(text)
}

const name = /^\.((?:\\.|[^\s.,[\]$@{}\\])*)/s

const member = (text: string): Token | undefined => {
  const [all = "", found = ""] = name.exec(text) ?? []
  if (all === "") return undefined
  const plain = found.replaceAll("\\", "")
  return { steps: [plain === "*" ? { step: "every" } : { step: "member", name: plain }], length: all.length }
}

const descent = (text: string): Token | undefined => {
  if (text.startsWith("...")) return undefined
  const following = /^\.\.[A-Za-z0-9_]/.test(text) ? member(text.slice(1)) : undefined
  return { steps: [{ step: "descend" }, ...(following?.steps ?? [])], length: 1 + (following?.length ?? 1) }
}

const brackets = (text: string): Token | undefined => {
  const end = text.indexOf("]")
  if (end < 0) return undefined
  const inside = text.slice(1, end)
  const parts = inside.split(",")
  if (parts.length === 1) {
    const step = bracket(inside)
    return step === undefined ? undefined : { steps: step, length: end + 1 }
  }
  const paths = parts.map((part) => bracket(part.trim()))
  return paths.some((path) => path === undefined)
    ? undefined
    : { steps: [{ step: "union", paths: paths.filter((path) => path !== undefined) }], length: end + 1 }
}

const bracket = (inside: string): JsonPath | undefined => {
  const quoted = /^'([^']*)'$/.exec(inside)?.[1]
  if (quoted !== undefined) return parse(`.${quoted}`)
  const match = /^(-?\d*)(:-?\d*)?(:-?\d*)?$/.exec(inside === "*" ? ":" : inside)
  if (match === null || inside === "") return undefined
  const [, from = "", to, by] = match
  return [
    {
      step: "slice",
      from: integer(from),
      to: to === undefined ? undefined : integer(to.slice(1)),
      by: integer(by?.slice(1) ?? "") ?? 1,
      single: to === undefined
    }
  ]
}

const integer = (text: string): number | undefined => (/^-?\d+$/.test(text) ? Number(text) : undefined)

const filter = (text: string): Token | undefined => {
  const length = filterLength(text)
  if (length === undefined) return undefined
  const inside = text.slice(3, length - 2)
  const compared = /^([^!<>=]+)([!<>=]+)(.+?)$/.exec(inside)
  if (compared === null)
    return { steps: [{ step: "filter", left: parse(inside), operator: "exists", right: [] }], length }
  const [, left = "", operator = "", right = ""] = compared
  return { steps: [{ step: "filter", left: parse(left), operator, right: parse(right) }], length }
}

/** Returns the length of a filter up to the first `)]` outside of quotes; undefined: the filter does not end. */
const filterLength = (text: string): number | undefined => {
  let quote: string | undefined
  for (let at = 3; at < text.length; at++) {
    const character = text.charAt(at)
    if (quote !== undefined) {
      if (character === quote && text[at - 1] !== "\\") quote = undefined
    } else if (character === '"' || character === "'") quote = character
    else if (character === ")") return text[at + 1] === "]" ? at + 2 : undefined
  }
  return undefined
}

const literal = (text: string): Token | undefined => {
  const quoted = /^(["'])((?:\\.|(?!\1)[^\\\n])*)\1/.exec(text)
  if (quoted !== null) {
    const [all, , inside = ""] = quoted
    return { steps: [{ step: "value", value: inside.replace(/\\(.)/g, "$1") }], length: all.length }
  }
  const plain = /^(?:true|false|[+-]?\d[\d.]*)(?=$|[\s.,[\]$@{}])/.exec(text)?.[0]
  if (plain === undefined) return undefined
  const value = plain === "true" || plain === "false" ? plain === "true" : Number(plain)
  return { steps: [{ step: "value", value }], length: plain.length }
}

const follow = (step: Step, value: Json.Json): ReadonlyArray<Json.Json> | undefined => {
  switch (step.step) {
    case "member": {
      const found = Json.at(value, step.name)
      return found === undefined ? [] : [found]
    }
    case "every":
      return children(value)
    case "descend":
      return [...descendants(value)]
    case "slice":
      return slice(step, value)
    case "union": {
      const found = step.paths.map((path) => find(path, value))
      return found.some((values) => values === undefined) ? undefined : found.flatMap((values) => values ?? [])
    }
    case "filter":
      return Json.isList(value) ? value.filter((item) => passes(step, item)) : undefined
    case "value":
      return [step.value]
  }
}

const children = (value: Json.Json): ReadonlyArray<Json.Json> =>
  Json.isList(value) ? value : Json.isObject(value) ? Object.values(value).filter((item) => item !== undefined) : []

/** Yields a value that has members or items, and all such values inside it. */
function* descendants(value: Json.Json): Generator<Json.Json> {
  const inner = children(value)
  if (inner.length === 0) return
  yield value
  for (const child of inner) yield* descendants(child)
}

const slice = (step: Extract<Step, { step: "slice" }>, value: Json.Json): ReadonlyArray<Json.Json> | undefined => {
  if (value === null) return []
  if (!Json.isList(value)) return undefined
  const from = counted(step.from ?? 0, value.length)
  const to = step.single ? from + 1 : counted(step.to ?? value.length, value.length)
  if (from === to) return []
  if (from < 0 || from >= value.length || to < from || to > value.length || step.by < 1) return undefined
  return value.slice(from, to).filter((_, index) => index % step.by === 0)
}

const counted = (index: number, length: number): number => (index < 0 ? index + length : index)

const passes = ({ left, operator, right }: Extract<Step, { step: "filter" }>, item: Json.Json): boolean => {
  const lefts = find(left, item) ?? []
  if (operator === "exists") return lefts.length > 0
  const rights = find(right, item) ?? []
  const [one, other] = [lefts[0], rights[0]]
  if (one === undefined || other === undefined || lefts.length > 1 || rights.length > 1) return false
  switch (operator) {
    case "==":
      return one === other
    case "!=":
      return typeof one === typeof other && one !== other
    case "<":
      return ordered(one, other, (sign) => sign < 0)
    case "<=":
      return ordered(one, other, (sign) => sign <= 0)
    case ">":
      return ordered(one, other, (sign) => sign > 0)
    case ">=":
      return ordered(one, other, (sign) => sign >= 0)
    default:
      return false
  }
}

const ordered = (one: Json.Json, other: Json.Json, passes: (sign: number) => boolean): boolean => {
  if (typeof one === "number" && typeof other === "number") return passes(one - other)
  return typeof one === "string" && typeof other === "string" && passes(one < other ? -1 : one > other ? 1 : 0)
}
