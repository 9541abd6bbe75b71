/**
 * What a page of the guide has its reader do, block by block. Each block is something to do or what comes of it: one that is
 * neither is a mistake of the page, as nobody would notice when it stops being true. Pure.
 *
 * - `ts`, `yaml` … with `title="a/file.ts"`: a file to write.
 * - `diff` with a title: lines of a file to change. The lines that stay or go are in the file, in one place.
 * - `sh`: commands. With `terminal="name"` in a terminal of that name, where the last one goes on until it is interrupted.
 * - `text`: what the commands before it print; with a terminal, what has been printed there by then.
 */
import { join } from "node:path"
import { Glob } from "bun"
import * as Markdown from "../docs/Markdown.ts"

/** Where the guide is. */
export const folder = join(import.meta.dir, "../../../docs/guide")

/** The page of a project elsewhere is followed by a test of its own, in `test/suites/pack`. */
const elsewhere = "own-repository.md"

/** Its pages, but for that one. */
export const pages: ReadonlyArray<string> = [...new Glob("*.md").scanSync(folder)]
  .filter((name) => name !== elsewhere)
  .toSorted()

/** Something to do. */
export type Step =
  | { readonly _tag: "Write"; readonly line: number; readonly path: string; readonly text: string }
  | { readonly _tag: "Edit"; readonly line: number; readonly path: string; readonly diff: string }
  | {
      readonly _tag: "Run"
      readonly line: number
      readonly script: string
      /** The terminal in which it goes on; none: it ends. */
      readonly terminal: string | undefined
      /** What it prints; none: anything. */
      readonly shows: string | undefined
    }
  | { readonly _tag: "Look"; readonly line: number; readonly terminal: string; readonly shows: string }

/** A block that nobody could do or compare. */
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

/** The steps of a page, in order. @throws NotDone */
export const of = (page: string): ReadonlyArray<Step> => {
  const steps: Array<Step> = []
  for (const block of Markdown.blocks(page)) {
    const step = stepOf(block, steps.at(-1))
    // What is printed belongs to the commands.
    if (block.language === "text" && step._tag === "Run") steps.pop()
    steps.push(step)
  }
  return steps
}

/** A text with the change that a diff block shows. @throws NotDone where its lines are not in the text, or in several places */
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

/** Whether a program printed what a page shows, but for spaces. `…` stands for any text, and alone in a line for any lines. */
export const shows = (printed: string, shown: string): boolean => {
  const pattern = plain(shown)
    .split("\n")
    .map((line) => (line === "…" ? "(?:.*\n)*" : `${line.split("…").map(literal).join(".*")}\n`))
    .join("")
  return new RegExp(`^${pattern}$`).test(`${plain(printed)}\n`)
}

/** The same of a program that goes on printing: its lines come in this order, and others may come between. */
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
