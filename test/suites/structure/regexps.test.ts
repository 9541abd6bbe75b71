/**
 * Every regular expression of the product takes time in proportion to the text: the manager has one thread, and tenants write many of
 * the texts. Each expression runs over texts that are made of its own parts, as those let it begin again and again in vain.
 */
import { describe, expect, test } from "bun:test"
import { parse } from "@babel/parser"
import { all } from "./Modules.ts"

interface Found {
  readonly at: string
  readonly regexp: RegExp
  /** How many times the usual milliseconds it may take. */
  readonly patience: number
}

/** The pattern of a field: the API server, and the schema before it, bound the length of the field. */
const patienceOfField = 8

type Node = { readonly type: string; readonly [key: string]: unknown }

const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && typeof Reflect.get(value, "type") === "string"

const nodesIn = (value: unknown, into: Array<Node> = []): ReadonlyArray<Node> => {
  if (typeof value !== "object" || value === null) return into
  if (isNode(value)) into.push(value)
  for (const [key, inside] of Object.entries(value)) if (!/^loc$|Comments$/.test(key)) nodesIn(inside, into)
  return into
}

const nameOf = (node: unknown): string | undefined =>
  isNode(node) && node.type === "Identifier" ? String(node.name) : undefined

/** The text of an expression. A value that only the running program has, such as the name of a field, stands as a word. */
const textOf = (node: unknown, constants: ReadonlyMap<string, Node>): string => {
  if (!isNode(node)) return ""
  if (node.type === "StringLiteral") return String(node.value)
  if (node.type === "TemplateLiteral") {
    const quasis = Array.isArray(node.quasis) ? node.quasis : []
    const expressions = Array.isArray(node.expressions) ? node.expressions : []
    return quasis
      .map((quasi, at) => {
        const cooked: unknown = Reflect.get(Reflect.get(quasi, "value"), "cooked")
        return String(cooked) + (at < expressions.length ? textOf(expressions[at], constants) : "")
      })
      .join("")
  }
  const constant = constants.get(nameOf(node) ?? "")
  return constant === undefined ? "word" : textOf(constant, constants)
}

/** The regular expressions of a module: literals, and what is given to `RegExp`. */
const regexpsIn = (file: string, text: string): ReadonlyArray<Found> => {
  const nodes = nodesIn(parse(text, { sourceType: "module", plugins: ["typescript"] }).program)
  const constants = new Map(
    nodes.flatMap((node): ReadonlyArray<[string, Node]> => {
      const name = node.type === "VariableDeclarator" ? nameOf(node.id) : undefined
      return name !== undefined && isNode(node.init) ? [[name, node.init]] : []
    })
  )
  const ofFields = new Set(
    nodes.flatMap((node) => {
      const isPattern =
        node.type === "CallExpression" && isNode(node.callee) && nameOf(node.callee.property) === "pattern"
      return isPattern && Array.isArray(node.arguments) ? node.arguments.slice(0, 1) : []
    })
  )
  return nodes.flatMap((node): ReadonlyArray<Found> => {
    const patience = ofFields.has(node) ? patienceOfField : 1
    const at = `${file}:${text.slice(0, Number(node.start)).split("\n").length}`
    if (node.type === "RegExpLiteral") {
      return [{ at, regexp: new RegExp(String(node.pattern), String(node.flags)), patience }]
    }
    if (!/^(New|Call)Expression$/.test(node.type) || nameOf(node.callee) !== "RegExp") return []
    const [pattern, flags] = Array.isArray(node.arguments) ? node.arguments : []
    return [{ at, regexp: new RegExp(textOf(pattern, constants), textOf(flags, constants)), patience }]
  })
}

/** A character or a class of a pattern, and how many of it there are at least. */
interface Atom {
  readonly source: string
  readonly least: number
}

const atom = /(\\[pP]\{\w+\}|\\[ux][\da-f]+|\\.|\[(?:\\.|[^\\\]])*\]|[^\\()[\]|^$?*+{}])(?:\{(\d+)(?:,\d*)?\}|)/giu

/** Parts of a pattern, in order: neither groups nor alternatives make a difference to what can go wrong. */
const atomsOf = (pattern: string): ReadonlyArray<Atom> =>
  Array.from(pattern.replaceAll(/\(\?(?:[:=!]|<[=!]|<\w+>)/g, "("), (character) => character)
    .join("")
    .matchAll(atom)
    .map(([, source = "", least = "1"]) => ({ source, least: Math.min(Number(least), 50) }))
    .filter(({ source }) => !/^\\[bBk\d]$/.test(source))
    .toArray()

/** One character of each kind that character classes distinguish. */
const characters = ["a", "0", "-", ".", " ", "/", ":", "@", "+", "_", "=", ",", '"', "\\", "Z", "\n", "\u0001", "é"]

const membersOf = ({ source }: Atom, flags: string): ReadonlyArray<string> => {
  const regexp = new RegExp(`^${source}$`, flags.replaceAll(/[gy]/g, ""))
  const known = characters.filter((character) => regexp.test(character)).slice(0, 5)
  if (known.length > 0) return known
  // Any other one that the class has: of a range its first.
  const code = /\\(?:u|x)\{?([\da-f]+)/i.exec(source)?.[1]
  return [code === undefined ? source.replace(/^\\(?=.$)/, "") : String.fromCodePoint(Number.parseInt(code, 16))]
}

const fill = (part: string, length: number): string => part.repeat(Math.ceil(length / part.length)).slice(0, length)

/** Texts that make a pattern begin, go on for long, and fail. Each is a function of the length. */
const attacksOn = ({ flags, source }: RegExp): ReadonlyArray<(length: number) => string> => {
  const atoms = atomsOf(source)
  const members = Array.from(new Set(atoms.flatMap((one) => membersOf(one, flags)))).slice(0, 12)
  let whole = ""
  const beginnings = atoms.slice(0, 24).map((one) => {
    whole += (membersOf(one, flags)[0] ?? "").repeat(Math.max(1, one.least))
    return whole
  })
  const pairs = members.flatMap((one) => members.map((other) => one + other))
  const repeated = [
    ...pairs,
    ...beginnings,
    ...beginnings.flatMap((beginning) => members.flatMap((one) => [beginning + one, beginning + one.repeat(50)]))
  ]
  return [
    ...Array.from(new Set(repeated), (part) => (length: number) => `${fill(part, length)}\u0000`),
    ...["", ...beginnings].flatMap((beginning) =>
      members.map((one) => (length: number) => `${beginning}${fill(one, length)}\u0000`)
    )
  ]
}

const run = (regexp: RegExp, text: string): void => {
  if (regexp.global) text.replace(regexp, "")
  else regexp.test(text)
}

/** Milliseconds of one run over a text; where that is too much, of CPU time, and the best of some: others use the processor too. */
const timeOf = (regexp: RegExp, text: string, most: number): number => {
  const begun = performance.now()
  run(regexp, text)
  let best = performance.now() - begun
  for (let round = 0; round < 4 && best > most; round++) {
    const before = process.cpuUsage()
    run(regexp, text)
    const { system, user } = process.cpuUsage(before)
    best = Math.min(best, (user + system) / 1000)
  }
  return best
}

/** Lengths of texts, the milliseconds that are plenty for them, and how many of the slowest are tried at the next length. */
const steps = [
  [400, 1, 60],
  [4_000, 2, 8],
  [60_000, 10, 1],
  [1_000_000, 50, 0]
] as const

/** A linear expression that takes about 2 ms for a text of 1 MB on a quiet machine. A slower machine gets more time in proportion. */
const slowness = (): number => Math.max(1, timeOf(/\b[a-z]{1,8}:/g, "abcdefgh ".repeat(111_111), 2) / 2)

/** The first text that takes too long: its beginning, its length, and the milliseconds. The longest ones come last. */
const slowOf = ({ patience, regexp }: Found): string | undefined => {
  const machine = slowness()
  let attacks = attacksOn(regexp)
  for (const [length, usual, kept] of steps) {
    const most = usual * patience * machine
    const times: Array<{ readonly attack: (length: number) => string; readonly millis: number }> = []
    for (const attack of attacks) {
      const text = attack(length)
      const millis = timeOf(regexp, text, most)
      if (millis > most) return `${Math.round(millis)} ms for ${length} of ${JSON.stringify(text.slice(0, 40))}`
      times.push({ attack, millis })
    }
    attacks = times
      .toSorted((one, other) => other.millis - one.millis)
      .slice(0, kept)
      .map(({ attack }) => attack)
  }
  return undefined
}

const found = all
  .filter(({ file }) => /^(runtime|observability|controllers)\//.test(file))
  .flatMap(({ file, text }) => regexpsIn(file, text))

describe("The regular expressions of the product", () => {
  test("take less than 50 ms for the worst text of 1 MB", () => {
    expect(found.length).toBeGreaterThan(100)
    const slow = found.flatMap((one) => {
      const text = slowOf(one)
      return text === undefined ? [] : [`${one.at} ${String(one.regexp)}: ${text}`]
    })
    expect(slow).toEqual([])
  }, 60_000)

  test("would fail with the expressions for URLs and tokens that cost a Lease once", () => {
    const former = [/(\b[a-z][a-z\d+.-]*:\/\/)[^\s/@"']+@/gi, /\beyJ[\w-]{5,}\.[\w-]{5,}\.[\w-]*/g]
    for (const regexp of former) expect(slowOf({ at: "", regexp, patience: 1 })).toBeDefined()
  }, 60_000)
})
