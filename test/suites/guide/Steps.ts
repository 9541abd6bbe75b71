/**
 * Reads the steps of a page of the guide. Each block is an action of the reader or its expected output. Any other block is a mistake of
 * the page, because no test would check it. These functions do no I/O.
 *
 * - `ts`, `yaml` … with `title="a/file.ts"`: a file to write.
 * - `diff` with a title: a change of a file. The kept and removed lines occur in the file exactly once.
 * - `sh`: commands. With `terminal="name"` they run in that terminal, and the last one runs until it is interrupted.
 * - `text`: the output of the commands before it. With a terminal, its output so far.
 */
import { join } from "node:path"
import { Glob } from "bun"
import * as Markdown from "../docs/Markdown.ts"

/** The folder of the guide. */
export const folder = join(import.meta.dir, "../../../docs/guide")

/** `test/suites/pack` tests this page, which is about a project elsewhere. */
const elsewhere = "own-repository.md"

/** The other pages of the guide. */
export const pages: ReadonlyArray<string> = [...new Glob("*.md").scanSync(folder)]
  .filter((name) => name !== elsewhere)
  .toSorted()

/** An action of the reader, or an output to expect. */
export type Step =
  | { readonly _tag: "Write"; readonly line: number; readonly path: string; readonly text: string }
  | { readonly _tag: "Edit"; readonly line: number; readonly path: string; readonly diff: string }
  | {
      readonly _tag: "Run"
      readonly line: number
      readonly script: string
      /** The terminal in which the script keeps running. Undefined if the script ends. */
      readonly terminal: string | undefined
      /** The expected output. Undefined if any output is accepted. */
      readonly shows: string | undefined
    }
  | { readonly _tag: "Look"; readonly line: number; readonly terminal: string; readonly shows: string }

/** A block that is not a valid step. */
export class NotDone extends Error {}

const stepOf = (block: Markdown.Block, before: Step | undefined): Step => {
  const { language, line, text } = block
  const { terminal, title: path, ...others } = block.attributes
  const mistake = (what: string) => new NotDone(`line ${line}: ${what}`)
  const [strange] = Object.keys(others)
  if (strange !== undefined) throw mistake(`nobody knows the attribute ${strange}`)
  if (language === "text" && terminal !== undefined) return { _tag: "Look", line, terminal, shows: text }
  if (language === "text") {
    if (before?._tag !== "Run" || before.shows !== undefined) throw mistake("an output without commands before it")
    return { ...before, shows: text }
  }
  if (language === "sh") return { _tag: "Run", line, script: text, terminal, shows: undefined }
  if (path === undefined) throw mistake(`a block of ${language || "no language"} that is no file: give it a title`)
  return language === "diff" ? { _tag: "Edit", line, path, diff: text } : { _tag: "Write", line, path, text }
}

/**
 * The steps of a page, in order.
 *
 * @throws NotDone if a block is not a valid step
 */
export const of = (page: string): ReadonlyArray<Step> => {
  const steps: Array<Step> = []
  for (const block of Markdown.blocks(page)) {
    const step = stepOf(block, steps.at(-1))
    // An output belongs to the commands before it.
    if (block.language === "text" && step._tag === "Run") steps.pop()
    steps.push(step)
  }
  return steps
}

/**
 * Applies a diff block to a text.
 *
 * @throws NotDone if the text does not contain the old lines exactly once
 */
export const changed = (text: string, diff: string): string => {
  const lines = diff.trimEnd().split("\n")
  const side = (sign: "-" | "+"): string =>
    lines
      .filter((line) => line === "" || line.startsWith(" ") || line.startsWith(sign))
      .map((line) => `${line.slice(1)}\n`)
      .join("")
  const [before, ...after] = text.split(side("-"))
  if (before === undefined || after.length !== 1) {
    throw new NotDone(`what it changes is there ${after.length} times:\n${side("-")}`)
  }
  return before + side("+") + after.join("")
}

const plain = (text: string): string =>
  text
    .trim()
    .replace(/[ \t]+/g, " ")
    .replace(/ $/gm, "")

const literal = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")

/**
 * Whether an output equals the text of a page, apart from spaces. `…` stands for any text, and alone on a line for any lines.
 */
export const shows = (printed: string, shown: string): boolean => {
  const pattern = plain(shown)
    .split("\n")
    .map((line) => (line === "…" ? "(?:.*\n)*" : `${line.split("…").map(literal).join(".*")}\n`))
    .join("")
  return new RegExp(`^${pattern}$`).test(`${plain(printed)}\n`)
}

/** Whether a running program has printed the lines in this order. Other lines may occur between them. */
export const begins = (printed: string, shown: string): boolean => {
  const lines = plain(printed).split("\n")
  let from = 0
  return plain(shown)
    .split("\n")
    .filter((line) => line !== "…")
    .every((line) => {
      const at = lines.findIndex((other, index) => index >= from && shows(other, line))
      from = at + 1
      return at >= 0
    })
}
