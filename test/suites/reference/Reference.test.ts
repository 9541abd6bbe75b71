import { expect, test } from "bun:test"
import { join } from "node:path"
import { Glob } from "bun"
import { folder, pages } from "../../../docs/generate/Pages.ts"

const root = join(import.meta.dir, "../../..")

test("each page is up to date with `bun run generate`, and their folder has no other", async () => {
  for (const { path, text } of pages) {
    expect([path, await Bun.file(join(root, path)).text()]).toEqual([path, text])
  }
  const files = Array.from(new Glob(`${folder}/**`).scanSync(root)).sort()
  expect(files).toEqual(
    pages
      .map(({ path }) => path)
      .filter((path) => path.startsWith(`${folder}/`))
      .toSorted()
  )
})

test("every entry in the pages of the packages has a description", () => {
  const undocumented = pages
    .filter(({ path }) => /\/(runtime|observability|testkit)\//.test(path))
    .flatMap(({ path, text }) => Array.from(text.matchAll(/^##+ (.*)\n\n```/gm), ([, name]) => `${path}: ${name}`))
  expect(undocumented).toEqual([])
})

test("no page contains paths of this machine", () => {
  expect(pages.filter(({ text }) => text.includes(root) || /import\("\.|file:\/\//.test(text))).toEqual([])
})
