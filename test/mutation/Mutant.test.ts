/** The mutations of a source, and the mutations that a seed draws. */
import { describe, expect, test } from "bun:test"
import * as Mutant from "./Mutant.ts"
import * as Syntax from "./Syntax.ts"

/** The mutations of a source, as `operator: from → to`. */
const mutationsOf = (text: string): ReadonlyArray<string> => {
  if (Syntax.parse(text) === undefined) throw new Error(`Not TypeScript: ${text}`)
  return Mutant.editsIn(text).map(({ end, operator, start, to }) => `${operator}: ${text.slice(start, end)} → ${to}`)
}

const cases: { readonly [what: string]: readonly [source: string, ...mutations: ReadonlyArray<string>] } = {
  "the boundary of a comparison, and its opposite": ["const a = b < c", "comparison: < → <=", "comparison: < → >="],
  "an equality": ["const a = b === c", "equality: === → !=="],
  "arithmetic, but not the joining of texts": [
    `const a = [b * c, \`\${b}\` + c]`,
    `array: [b * c, \`\${b}\` + c] → []`,
    "arithmetic: * → /",
    `string: \`\${b}\` → ""`
  ],
  "a condition that no operator negates": [
    "if (a) b",
    "condition: a → true",
    "condition: a → false",
    "condition: a → !a",
    "statement: b → ;"
  ],
  "a condition that needs parentheses to be negated": [
    "const a = b && c ? d : e",
    "condition: b && c → true",
    "condition: b && c → false",
    "condition: b && c → !(b && c)",
    "logic: && → ||"
  ],
  "a condition that its own operator negates": [
    "const a = !b ? c : d",
    "condition: !b → true",
    "condition: !b → false",
    "sign: !b → b"
  ],
  "a loop, which never becomes endless": [
    "while (a) b",
    "condition: a → false",
    "condition: a → !a",
    "statement: b → ;"
  ],
  "and, or, and a default": [
    "const a = (b && c) ?? d",
    "default: (b && c) ?? d → b && c",
    "default: (b && c) ?? d → d",
    "logic: && → ||"
  ],
  literals: [
    'const a = [true, 3, 40, "b", ""]',
    'array: [true, 3, 40, "b", ""] → []',
    "boolean: true → false",
    "number: 3 → 4",
    "number: 40 → 80",
    'string: "b" → ""',
    'string: "" → "mutated"'
  ],
  "an object, but not the names of its properties": ['const a = { "b": c, [d]: e }', 'object: { "b": c, [d]: e } → {}'],
  "optional chaining": ["const a = b?.c?.[d]?.(e)", "optional: ?. → .", "optional: ?. → ", "optional: ?. → "],
  "assignments and steps of one": [
    "a += b; c++",
    "statement: a += b; → ;",
    "assignment: += → -=",
    "statement: c++ → ;",
    "update: ++ → --"
  ],
  "what a function returns": [
    "function a() { return b }; const c = () => d",
    "return: return b → return undefined",
    "return: d → undefined"
  ],
  "a step of a pipe": ["const a = b.pipe(c, d)", "step: c,  → ", "step: , d → "],
  "but not the beginning of a pipe": ["const a = pipe(b, c)", "step: , c → "],
  "what Effect does beside another effect": ["const a = Effect.retry(b, c)", "combinator: Effect.retry(b, c) → b"],
  "the permits of a semaphore": [
    "const a = turn.withPermits(1)(b)",
    "combinator: turn.withPermits(1)(b) → b",
    "number: 1 → 2"
  ],
  "a method that another one resembles, or that selects": [
    "const a = b.filter(c).some(d)",
    "method: b.filter(c) → b",
    "method: some → every"
  ]
}

describe("The mutations of a source are those of", () => {
  for (const [what, [source, ...mutations]] of Object.entries(cases)) {
    test(what, () => expect(mutationsOf(source)).toEqual(mutations))
  }
})

describe("No mutation changes", () => {
  for (const [what, source] of Object.entries({
    "an import or an export":
      'import a from "b"; export * from "c"; export * as d from "e"; export { f } from "g"; export { a as h }',
    "a type": 'type A = "b" | 3; interface C { d: "e" }; const f: "g" = h as "i" satisfies "j"; const k = l<"m">(n)',
    "a comment": '// "a" + b\n/** c === d */',
    "a sentence": `const a = "not found"; const b = \`\${c} is not here\`; const d = "The " + "end of" + \`\${e + 1}\``,
    "a text for people by its name": "class A { get message() { return b + 1 } }",
    "an error's text": `const a = new Error(\`\${b + 1}\`)`,
    "a log line":
      'Effect.logInfo("a").pipe(Effect.annotateLogs({ b: 1 })); function* c() { yield* Effect.logDebug(d) }',
    "a log line of a pipe": "const a = b.pipe(Effect.annotateLogs({ c: 1 }))",
    "the identity of a service": 'class A extends Context.Service<A, B>()("C") {}; const d = Context.Reference("E", f)'
  })) {
    test(what, () => expect(mutationsOf(source)).toEqual([]))
  }

  test("a pause that follows a log line, which is not part of the line", () => {
    expect(mutationsOf('const a = Effect.logInfo("b").pipe(Effect.andThen(c))')).toEqual(["step: Effect.andThen(c) → "])
  })
})

const source = "export const small = (a: number) => a < 1\n\nexport const large = (a: number) => a > 1 && a !== 3\n"

describe("A draw", () => {
  const drawn = (seed: number, count: number) => Mutant.draw(new Map([["a.ts", source]]), seed, count)
  const all = Mutant.editsIn(source).length

  test("gives the same mutants for the same seed, and others for another one", () => {
    expect(drawn(7, 5)).toEqual(drawn(7, 5))
    expect(drawn(7, 5)).not.toEqual(drawn(8, 5))
  })

  test("begins with the mutants of a smaller one", () => expect(drawn(7, 6).slice(0, 4)).toEqual([...drawn(7, 4)]))

  test("has each mutation once, and no more than there are", () => {
    const mutants = drawn(7, 1000)
    expect(mutants).toHaveLength(all)
    expect([...new Set(mutants.map((mutant) => Mutant.apply(source, mutant)))]).toHaveLength(all)
  })
})

describe("A mutant", () => {
  const text = "if (a) {\n  b()\n}\nif (c) {\n  b()\n}\n"
  const [mutant] = Mutant.editsIn(text)
    .filter(({ operator, start }) => operator === "statement" && start > 20)
    .map((edit) => Mutant.of("1", "a.ts", text, edit))

  test("names as many lines as the file has once", () => {
    expect(mutant).toEqual({ id: "1", file: "a.ts", from: "if (c) {\n  b()", to: "if (c) {\n  ;" })
  })

  test("changes its file where those lines are, and shows the lines that differ", () => {
    if (mutant === undefined) throw new Error("There is no mutant")
    expect(Mutant.apply(text, mutant)).toBe("if (a) {\n  b()\n}\nif (c) {\n  ;\n}\n")
    expect(Mutant.changeOf(text, mutant)).toEqual({ line: 5, before: "b()", after: ";" })
  })

  test("does not apply to a file that has its text twice, or not at all", () => {
    expect(Mutant.apply(text, { id: "1", file: "a.ts", from: "b()", to: "" })).toBeUndefined()
    expect(Mutant.apply(text, { id: "1", file: "a.ts", from: "d()", to: "" })).toBeUndefined()
  })
})
