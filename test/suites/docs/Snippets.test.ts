/**
 * Compiles the TypeScript examples of pages. Blocks with `check="FILE.ts"` compile, all blocks of a page in one folder, and their tests
 * pass. Blocks with `mistake="FILE.ts"` do not compile. The next text block then shows a message of the compiler or of `@effect/tsgo`,
 * in which `…` stands for any text.
 */
import { describe, expect, test } from "bun:test"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import * as Markdown from "./Markdown.ts"

const root = join(import.meta.dir, "../../..")

const pages = ["docs/children.md", "docs/controller-runtime.md", "docs/effect.md", "docs/webhooks.md"]

const read = async (page: string) => Markdown.blocks(await Bun.file(join(root, page)).text())

interface File {
  readonly name: string
  readonly text: string
}

/** Writes a project into a new folder, and removes it at the end. */
const project = <A>(files: ReadonlyArray<File>, use: (run: (...words: ReadonlyArray<string>) => string) => A): A => {
  mkdirSync(join(root, "dist"), { recursive: true })
  const folder = mkdtempSync(join(root, "dist", "snippets-"))
  try {
    for (const { name, text } of files) {
      mkdirSync(dirname(join(folder, name)), { recursive: true })
      writeFileSync(join(folder, name), text)
    }
    const settings = { extends: "../../tsconfig.json", include: ["**/*.ts"], exclude: [] }
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(settings))
    return use((...words) => {
      const { stderr, stdout } = Bun.spawnSync([process.execPath, ...words], { cwd: folder, stdin: "ignore" })
      return Bun.stripANSI(`${stdout}${stderr}`)
    })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const tsc = ["x", "tsc", "-p", "tsconfig.json", "--noEmit", "--checkers", "1"]
const effect = ["x", "effect-tsgo", "diagnostics", "--project", "tsconfig.json", "--strict"]

/** The messages of the compiler or of @effect/tsgo. Each begins with the name of its file. */
const messagesOf = (output: string): ReadonlyArray<string> =>
  output.split(/^(?=\S*?\w+\.ts[(:])/m).filter((message) => message !== "")

/** The files of a page, in a folder of its own. */
const filesOf = async (page: string): Promise<ReadonlyArray<File>> =>
  (await read(page)).flatMap(({ attributes, text }) =>
    attributes.check === undefined ? [] : [{ name: `${basename(page, ".md")}/${attributes.check}`, text }]
  )

/** The examples of docs/effect.md that do not compile, with the message that the page shows. */
const mistakes = read("docs/effect.md").then((blocks) =>
  blocks.flatMap(({ attributes: { mistake }, text }, index) => {
    const shown = blocks
      .slice(index)
      .find(({ language }) => language === "text")
      ?.text.trim()
    return mistake === undefined || shown === undefined ? [] : [{ name: `mistakes/${mistake}`, text, shown }]
  })
)

/** The compiler's messages about all examples, from one run. */
const compiled = Promise.all([mistakes, ...pages.map(filesOf)]).then((files) =>
  project(files.flat(), (run) => messagesOf(run(...tsc)))
)

describe("The examples compile:", () => {
  for (const page of pages) {
    test(page, async () => {
      expect((await filesOf(page)).length).toBeGreaterThan(1)
      const others = [
        "mistakes/",
        ...pages.filter((other) => other !== page).map((other) => `${basename(other, ".md")}/`)
      ]
      expect((await compiled).filter((message) => !others.some((folder) => message.startsWith(folder)))).toEqual([])
    }, 120_000)
  }
})

test("The tests in docs/webhooks.md pass", async () => {
  const files = (await read("docs/webhooks.md")).flatMap(({ attributes, text }) =>
    attributes.check === undefined ? [] : [{ name: attributes.check, text }]
  )
  const output = project(files, (run) => run("test", "./webhook.test.ts"))
  expect(output).toMatch(/^ 2 pass\n 0 fail$/m)
}, 120_000)

test("The mistakes in docs/effect.md cause the messages of the page", async () => {
  const files = await mistakes
  expect(files.length).toBeGreaterThan(6)
  const compiler = await compiled
  const diagnostics = project(files, (run) => run(...effect))
  /** The messages about a file. */
  const about = (messages: ReadonlyArray<string>, name: string): string =>
    messages.filter((message) => new RegExp(`^\\S*\\b${name}[(:]`).test(message)).join("")
  for (const { name, shown } of files) {
    const messages = about(compiler, name) + about(messagesOf(diagnostics), name)
    const pattern = shown
      .split("…")
      .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&"))
      .join(".*")
    expect([name, messages]).toEqual([name, expect.stringMatching(new RegExp(pattern))])
  }
  // The compiler accepts this mistake. Only @effect/tsgo reports it.
  expect(about(compiler, "mistakes/Yield.ts")).toBe("")
  expect(diagnostics).toContain("1 errors")
}, 120_000)
