/** The TypeScript examples of pages compile: blocks with `check="FILE.ts"`, all of a page in one folder. */
import { describe, expect, test } from "bun:test"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as Markdown from "./Markdown.ts"

const root = join(import.meta.dir, "../../..")

const pages = ["docs/controller-runtime.md", "docs/effect.md"]

describe("The examples compile:", () => {
  for (const page of pages) {
    test(page, async () => {
      const files = Markdown.blocks(await Bun.file(join(root, page)).text()).flatMap(({ attributes, text }) =>
        attributes.check === undefined ? [] : [{ name: attributes.check, text }]
      )
      expect(files.length).toBeGreaterThan(3)
      mkdirSync(join(root, "dist"), { recursive: true })
      const folder = mkdtempSync(join(root, "dist", "snippets-"))
      try {
        for (const { name, text } of files) writeFileSync(join(folder, name), text)
        const settings = { extends: "../../tsconfig.json", include: ["*.ts"], exclude: [] }
        writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(settings))
        const { exitCode, stdout } = Bun.spawnSync(
          [process.execPath, "x", "tsc", "-p", join(folder, "tsconfig.json"), "--noEmit", "--checkers", "1"],
          { cwd: root, stdin: "ignore" }
        )
        expect(stdout.toString()).toBe("")
        expect(exitCode).toBe(0)
      } finally {
        rmSync(folder, { recursive: true, force: true })
      }
    }, 120_000)
  }
})
