/** The pages of the docs that are made from code say what the code says. */
import { expect, test } from "bun:test"
import { join } from "node:path"
import { Glob } from "bun"
import { folder, pages } from "../../../docs/generate/Pages.ts"

const root = join(import.meta.dir, "../../..")

test("each page is as `bun run generate` would write it now, and no other is in their folder", async () => {
  for (const { path, text } of pages) {
    expect([path, await Bun.file(join(root, path)).text()]).toEqual([path, text])
  }
  const there = Array.from(new Glob(`${folder}/**`).scanSync(root)).sort()
  expect(there).toEqual(
    pages
      .map(({ path }) => path)
      .filter((path) => path.startsWith(`${folder}/`))
      .toSorted()
  )
})

test("whatever the pages of the packages show says what it is", () => {
  const silent = pages
    .filter(({ path }) => /\/(runtime|observability|testkit)\//.test(path))
    .flatMap(({ path, text }) => Array.from(text.matchAll(/^##+ (.*)\n\n```/gm), ([, name]) => `${path}: ${name}`))
  expect(silent).toEqual([])
})

test("no page tells of the machine that it was made on", () => {
  expect(pages.filter(({ text }) => text.includes(root) || /import\("\.|file:\/\//.test(text))).toEqual([])
})
