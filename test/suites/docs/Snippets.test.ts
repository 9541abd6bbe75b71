/**
 * Compiles the TypeScript examples of pages. Blocks with `check="FILE.ts"` compile, all blocks of a page in one folder, and their tests
 * pass. Blocks with `mistake="FILE.ts"` do not compile. The next text block then shows a message of the compiler or of `@effect/tsgo`,
 * in which `…` stands for any text.
 */
import { describe, expect, test } from "bun:test"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
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
    for (const { name, text } of files) writeFileSync(join(folder, name), text)
    const settings = { extends: "../../tsconfig.json", include: ["*.ts"], exclude: [] }
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(settings))
    return use((...words) => {
      const { stderr, stdout } = Bun.spawnSync([process.execPath, ...words], { cwd: folder, stdin: "ignore" })
      return `${stdout}${stderr}`
    })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const tsc = ["x", "tsc", "-p", "tsconfig.json", "--noEmit", "--checkers", "1"]
const effect = ["x", "effect-tsgo", "diagnostics", "--project", "tsconfig.json", "--strict"]

describe("The examples compile:", () => {
  for (const page of pages) {
    test(page, async () => {
      const files = (await read(page)).flatMap(({ attributes, text }) =>
        attributes.check === undefined ? [] : [{ name: attributes.check, text }]
      )
      expect(files.length).toBeGreaterThan(1)
      project(files, (run) => expect(run(...tsc)).toBe(""))
    }, 120_000)
  }
})

test("The tests in docs/webhooks.md pass", async () => {
  const files = (await read("docs/webhooks.md")).flatMap(({ attributes, text }) =>
    attributes.check === undefined ? [] : [{ name: attributes.check, text }]
  )
  const output = project(files, (run) => run("test", "./webhook.test.ts"))
  expect(Bun.stripANSI(output)).toMatch(/^ 2 pass\n 0 fail$/m)
}, 120_000)

describe("The mistakes in docs/effect.md", () => {
  const mistakes = read("docs/effect.md").then((blocks) =>
    blocks.flatMap(({ attributes: { mistake }, text }, index) => {
      const shown = blocks
        .slice(index)
        .find(({ language }) => language === "text")
        ?.text.trim()
      return mistake === undefined || shown === undefined ? [] : [{ name: mistake, text, shown }]
    })
  )

  /** The messages about a file. Each begins with the name of the file. */
  const about = (output: string, name: string): string =>
    Bun.stripANSI(output)
      .split(/^(?=\S*?\w+\.ts[(:])/m)
      .filter((message) => new RegExp(`^\\S*\\b${name}[(:]`).test(message))
      .join("")

  test("cause the messages of the page", async () => {
    const files = await mistakes
    expect(files.length).toBeGreaterThan(6)
    const { compiler, diagnostics } = project(files, (run) => ({ compiler: run(...tsc), diagnostics: run(...effect) }))
    for (const { name, shown } of files) {
      const messages = about(compiler, name) + about(diagnostics, name)
      const pattern = shown
        .split("…")
        .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&"))
        .join(".*")
      expect([name, messages]).toEqual([name, expect.stringMatching(new RegExp(pattern))])
    }
    // The compiler accepts this mistake. Only @effect/tsgo reports it.
    expect(about(compiler, "Yield.ts")).toBe("")
    expect(Bun.stripANSI(diagnostics)).toContain("1 errors")
  }, 120_000)
})
