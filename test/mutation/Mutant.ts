/** A mutant is one change of one source: a text that occurs once, and its replacement. Pure. */
import { Effect, Random } from "effect"
import { isNoise, variableIn } from "./Noise.ts"
import { type Edit, editsOf } from "./Operator.ts"
import { type Node, parse } from "./Syntax.ts"

/** A mutant, in the format that `--list` prints and `--replay` reads. */
export interface Mutant {
  readonly id: string
  /** The path of the source, relative to the root of the project. */
  readonly file: string
  /** The replaced text, which occurs once in the source. */
  readonly from: string
  readonly to: string
  /** A part of the path of the test files that run first. */
  readonly test?: string | undefined
}

/** The lines that a mutant changes, without indentation, and the number of the first one. */
export interface Change {
  readonly line: number
  readonly before: string
  readonly after: string
}

const visit = function* (node: Node, text: string, parent: Node | undefined): Generator<Edit> {
  yield* editsOf(node, text, parent)
  for (const child of variableIn(node)) yield* visit(child, text, node)
}

/** Returns all mutations of a source, in the order of the text. */
export const editsIn = (text: string): ReadonlyArray<Edit> => {
  const found = new Map<string, Edit>()
  for (const node of parse(text) ?? []) {
    for (const edit of isNoise(node) ? [] : visit(node, text, undefined)) {
      const { end, start, to } = edit
      if (text.slice(start, end) !== to) found.set(`${start} ${end} ${to}`, edit)
    }
  }
  return [...found.values()].sort((one, other) => one.start - other.start)
}

const timesIn = (text: string, part: string): number => text.split(part).length - 1

/** Makes a mutant of an edit. Its text has the lines of the edit, and as many lines around them as make the text unique. */
export const of = (id: string, file: string, text: string, edit: Edit): Mutant => {
  let start = text.lastIndexOf("\n", edit.start - 1) + 1
  const endOfLine = (from: number): number => (text.indexOf("\n", from) + text.length + 1) % (text.length + 1)
  let end = endOfLine(edit.end)
  while (timesIn(text, text.slice(start, end)) > 1) {
    start = text.lastIndexOf("\n", start - 2) + 1
    if (timesIn(text, text.slice(start, end)) > 1) end = endOfLine(end + 1)
  }
  const to = text.slice(start, edit.start) + edit.to + text.slice(edit.end, end)
  return { id, file, from: text.slice(start, end), to }
}

/**
 * Draws mutants from sources. The same sources and seed give the same mutants, and a larger count starts with the mutants of a smaller
 * one. It omits mutants that are not TypeScript.
 *
 * @param sources the texts of the sources by path
 */
export const draw = (sources: ReadonlyMap<string, string>, seed: number, count: number): ReadonlyArray<Mutant> => {
  const all = [...sources].flatMap(([file, text]) => editsIn(text).map((edit) => ({ file, text, edit })))
  const drawn: Array<Mutant> = []
  const shuffled = Effect.runSync(Random.withSeed(Random.shuffle(all), seed))
  for (const { edit, file, text } of shuffled) {
    if (drawn.length === count) break
    const mutant = of(`${drawn.length + 1}`, file, text, edit)
    const mutated = apply(text, mutant)
    if (mutated !== undefined && parse(mutated) !== undefined) drawn.push(mutant)
  }
  return drawn
}

/** Returns the source with the mutation, or undefined if the replaced text does not occur exactly once. */
export const apply = (text: string, { from, to }: Mutant): string | undefined =>
  from !== "" && timesIn(text, from) === 1 ? text.replace(from, () => to) : undefined

/** Returns the lines that a mutant changes, or undefined if it does not apply. */
export const changeOf = (text: string, mutant: Mutant): Change | undefined => {
  const mutated = apply(text, mutant)
  if (mutated === undefined) return undefined
  const [before, after] = [text.split("\n"), mutated.split("\n")]
  const isSame = (at: number): boolean => before.at(at) === after.at(at)
  const shorter = Math.min(before.length, after.length) - 1
  let first = 0
  while (first < shorter && isSame(first)) first++
  let last = 0
  while (last < shorter - first && isSame(-1 - last)) last++
  const shown = (lines: ReadonlyArray<string>): string =>
    lines
      .slice(first, lines.length - last)
      .map((line) => line.trim())
      .join(" ")
  return { line: first + 1, before: shown(before), after: shown(after) }
}
