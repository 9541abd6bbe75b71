import { describe, expect, test } from "bun:test"
import { join } from "node:path"
import * as Markdown from "./Markdown.ts"

const root = join(import.meta.dir, "../../..")

const files = async (page: string) =>
  Markdown.blocks(await Bun.file(join(root, page)).text())
    .filter(({ attributes }) => attributes.title !== undefined)
    .map(({ attributes, text }) => ({ title: attributes.title, text }))

describe("The controller in the README", () => {
  test("is the first one of the guide", async () => {
    const shown = await files("README.md")
    expect(shown).toHaveLength(1)
    expect(await files("docs/guide/reconciler.md")).toContainEqual(expect.objectContaining(shown[0] ?? {}))
  })
})
