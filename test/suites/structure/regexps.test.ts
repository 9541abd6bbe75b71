/**
 * Every regular expression of the product takes linear time, because tenants write many of the texts. Each expression runs over texts
 * from its own parts.
 */
import { describe, expect, test } from "bun:test"
import { parse } from "@babel/parser"
import { all } from "./Modules.ts"

interface Found {
  readonly at: string
  readonly regexp: RegExp
  /** The factor for its time limit. */
  readonly patience: number
}

/** For patterns of fields, whose length the API server and the schema limit. */
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

/** The text of an expression, with a placeholder for values that exist only at run time. */
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

/** The regular expressions of a module: literals and arguments of `RegExp`. */
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
        node.type === "CallExpression" && isNode(node.callee) && nameOf(node.callee.property) === "isPattern"
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
    // Flags that exist only at run time do not matter.
    const known = isNode(flags) && flags.type !== "CallExpression" ? textOf(flags, constants) : ""
    return [{ at, regexp: new RegExp(textOf(pattern, constants), known), patience }]
  })
}

/** A character or a class of a pattern, and its minimal count. */
interface Atom {
  readonly source: string
  readonly least: number
}

const atom = /(\\[pP]\{\w+\}|\\[ux][\da-f]+|\\.|\[(?:\\.|[^\\\]])*\]|[^\\()[\]|^$?*+{}])(?:\{(\d+)(?:,\d*)?\}|)/giu

/** The parts of a pattern in order, without groups and alternatives. */
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
  // Another character of the class: the first of a range.
  const code = /\\(?:u|x)\{?([\da-f]+)/i.exec(source)?.[1]
  return [code === undefined ? source.replace(/^\\(?=.$)/, "") : String.fromCodePoint(Number.parseInt(code, 16))]
}

const fill = (part: string, length: number): string => part.repeat(Math.ceil(length / part.length)).slice(0, length)

/** Texts that match a pattern for long and then fail, as functions of the length. */
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

/** The milliseconds of one run, or the best CPU time of five runs. */
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

/** Lengths of texts, their limits in milliseconds, and the count of the slowest texts for the next length. */
const steps = [
  [400, 1, 60],
  [4_000, 2, 8],
  [60_000, 10, 1],
  [1_000_000, 50, 0]
] as const

/** The factor of a slow machine, for which a linear expression takes more than 2 ms for 1 MB. */
const slowness = (): number => Math.max(1, timeOf(/\b[a-z]{1,8}:/g, "abcdefgh ".repeat(111_111), 2) / 2)

/** The first text that takes too long: its beginning, its length and its milliseconds. */
const slowOf = ({ patience, regexp }: Found): string | undefined => {
  let machine = slowness()
  let attacks = attacksOn(regexp)
  for (const [length, usual, kept] of steps) {
    let most = usual * patience * machine
    const times: Array<{ readonly attack: (length: number) => string; readonly millis: number }> = []
    for (const attack of attacks) {
      const text = attack(length)
      let millis = timeOf(regexp, text, most)
      // The machine may have become slower since its factor was measured.
      for (let again = 0; again < 3 && millis > most; again++) {
        machine = Math.max(machine, slowness())
        most = usual * patience * machine
        millis = timeOf(regexp, text, most)
      }
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

  test("fail this test in the former, slow versions for URLs and tokens", () => {
    const former = [/(\b[a-z][a-z\d+.-]*:\/\/)[^\s/@"']+@/gi, /\beyJ[\w-]{5,}\.[\w-]{5,}\.[\w-]*/g]
    for (const regexp of former) expect(slowOf({ at: "", regexp, patience: 1 })).toBeDefined()
  }, 60_000)
})
