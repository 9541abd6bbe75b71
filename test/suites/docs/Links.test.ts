import { describe, expect, test } from "bun:test"
import { existsSync, statSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { Glob } from "bun"
import * as Page from "./Page.ts"

const root = join(import.meta.dir, "../../..")

const files = Array.from(new Glob("**/*.md").scanSync(root))
  .filter((file) => !/(^|\/)(node_modules|dist)\//.test(file))
  .sort()

const pages = new Map(
  await Promise.all(files.map(async (file) => [file, Page.read(await Bun.file(join(root, file)).text())] as const))
)

/** A link from a page to a file, relative to the root, with its anchor. */
interface Link {
  readonly from: string
  readonly url: string
  readonly file: string
  readonly anchor: string | undefined
}

const links: ReadonlyArray<Link> = [...pages].flatMap(([from, { links }]) =>
  links
    .filter((url) => !/^[a-z]+:/.test(url))
    .map((url) => {
      const [path = "", anchor] = url.split("#")
      const file = path === "" ? from : relative(root, join(root, dirname(from), path))
      return { from, url, file, anchor }
    })
)

describe("A link in a Markdown file", () => {
  test("leads to a file of the repository", () => {
    expect(links.length).toBeGreaterThan(100)
    expect(links.filter(({ file }) => !existsSync(join(root, file))).map(({ from, url }) => `${from}: ${url}`)).toEqual(
      []
    )
  })

  test("leads to an existing heading", () => {
    const dead = links.filter(({ anchor, file }) => anchor !== undefined && !pages.get(file)?.anchors.includes(anchor))
    expect(dead.map(({ from, url }) => `${from}: ${url}`)).toEqual([])
  })
})

describe("A page of docs/", () => {
  test("is linked from docs/README.md, which the README links", () => {
    const found = new Set<string>()
    const visit = (file: string): void => {
      const path = statSync(join(root, file), { throwIfNoEntry: false })?.isDirectory() ? join(file, "README.md") : file
      if (found.has(path) || !pages.has(path)) return
      found.add(path)
      for (const link of links.filter(({ from }) => from === path)) visit(link.file)
    }
    visit("docs/README.md")
    expect(files.filter((file) => /^(docs|deploy)\//.test(file) && !found.has(file))).toEqual([])
    expect(links.some(({ file, from }) => from === "README.md" && file === "docs/README.md")).toBe(true)
  })
})
