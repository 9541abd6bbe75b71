/** Pages, comments and messages follow the rules of plain English in `Prose.ts`. */
import { describe, expect, test } from "bun:test"
import { join } from "node:path"
import { Glob } from "bun"
import * as Prose from "./Prose.ts"

const root = join(import.meta.dir, "../../..")

const read = async (file: string): Promise<string> => await Bun.file(join(root, file)).text()

const files = (pattern: string): ReadonlyArray<string> =>
  [...new Glob(pattern).scanSync({ cwd: root, dot: false })]
    .filter((file) => !/(^|\/)(node_modules|dist|released)\//.test(file))
    .sort()

// Evidence quotes names of tests.
const pages = files("**/*.md").filter((file) => file !== "docs/evidence.md")

const modules = files("{runtime,controllers,observability,deploy,docs}/**/*.ts").filter(
  (file) => !/\.(test|fixture)\.ts$/.test(file)
)

const hitsOf = async (
  paths: ReadonlyArray<string>,
  paragraphsOf: (text: string) => ReadonlyArray<string>
): Promise<ReadonlyArray<string>> => {
  const all = await Promise.all(
    paths.map(async (path) =>
      paragraphsOf(await read(path))
        .flatMap(Prose.hits)
        .map(({ advice, found }) => `${path}: ${found} (${advice})`)
    )
  )
  return all.flat()
}

describe("Plain English in", () => {
  test("pages", async () => {
    expect(pages.length).toBeGreaterThan(50)
    expect(await hitsOf(pages, Prose.ofPage)).toEqual([])
  })

  test("comments", async () => {
    expect(modules.length).toBeGreaterThan(150)
    expect(await hitsOf(modules, Prose.ofComments)).toEqual([])
  })

  test("messages, help and descriptions", async () => {
    expect(await hitsOf(modules, Prose.ofStrings)).toEqual([])
  })
})

describe("The check finds", () => {
  const found = (text: string) => Prose.hits(text).map(({ advice }) => advice)

  for (const text of [
    "The manager is told of the change.",
    "This mends the status.",
    "The server lists anew.",
    "Nobody owns the object.",
    "Whoever reads the page.",
    "A retry is no change.",
    "There are no more objects.",
    "The object stays for ever.",
    "The cache remembers the answer.",
    "The program does what he wants.",
    "It works. Of several replicas one leads.",
    "Who only waits ends.",
    "What is missing is named."
  ]) {
    test(text, () => expect(found(text)).not.toEqual([]))
  }

  test("a sentence of 26 words, in which code counts as one word", () => {
    const words = (count: number) => `${Array.from({ length: count }, () => "word").join(" ")}.`
    expect(found(words(25))).toEqual([])
    expect(found(words(26))).toEqual(["26 words: write two sentences"])
    expect(found(`\`${words(30)}\` ${words(24)}`)).toEqual([])
  })

  test("nothing in questions, in code and in ordinary sentences", () => {
    for (const text of ["What is missing?", "`told`", "The manager is no longer the leader.", "There is no trace."]) {
      expect([text, found(text)]).toEqual([text, []])
    }
  })
})

describe("The paragraphs of", () => {
  test("a page leave out code and contain cells, items and headings", () => {
    const page =
      "# Title\n\nOne\nline.\n\n- first\n- second\n\n```sh\nnot this\n```\n\n| a | b |\n| --- | --- |\n| c | d |\n"
    expect(Prose.ofPage(page)).toEqual(["Title", "One\nline.", "first", "second", "a", "b", "c", "d"])
  })

  test("a module are its comments and its strings of three words or more", () => {
    const source = `/**\n * First.\n *\n * Second.\n */\n// Third\n// line.\nconst a = "one two" + "one two three" + \`x ${"$"}{b} y z\`\n`
    expect(Prose.ofComments(source).map((text) => text.replaceAll(/\s+/g, " "))).toEqual([
      "First.",
      "Second.",
      "Third line."
    ])
    expect(Prose.ofStrings(source)).toEqual(["one two three", "x X y z"])
  })
})
