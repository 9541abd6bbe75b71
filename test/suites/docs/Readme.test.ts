import { describe, expect, test } from "bun:test"
import { join } from "node:path"
import * as Pages from "../../bench/Pages.ts"
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

describe("The first 60 lines of the README", () => {
  const parts: ReadonlyArray<readonly [question: string, answer: RegExp]> = [
    ["what", /^\*\*Write Kubernetes controllers in TypeScript\.\*\*/m],
    ["for whom", /^\*\*For\*\* TypeScript teams/m],
    ["when to choose something else", /^\*\*Choose something else\*\* if/m],
    ["status", /^\*\*Status:\*\* \d+\.\d+, pre-release/m],
    ["install", /^## Install$/m],
    ["code", /^```ts .*?\breconcile:.*?^```$/ms],
    ["demo", /^npx --yes bun@[\d.]+ run demo\b/m]
  ]

  for (const [question, answer] of parts) {
    test(`answer: ${question}`, async () => {
      const lines = (await Bun.file(join(root, "README.md")).text()).split("\n").slice(0, 60)
      expect(lines.join("\n")).toMatch(answer)
    })
  }
})

describe("The numbers in the README", () => {
  const cellsOf = (line: string) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim())

  const rows = async (page: string) =>
    (await Bun.file(join(root, page)).text())
      .split("\n")
      .filter((line) => line.startsWith("|"))
      .map(cellsOf)

  test("are those of the measurements in docs/performance.md", async () => {
    const measured = new Map<string, ReadonlyArray<string>>()
    let scenario = ""
    for (const [first = "", number = "", ...values] of await rows("docs/performance.md")) {
      scenario = first === "" ? scenario : first
      measured.set(`${scenario}: ${number}`, values)
    }
    const shown = await rows("README.md")
    // The first number is the median, and the ratio is bold.
    const medianOf = (cell: string) => cell.replaceAll("*", "").split(" ")[0] ?? ""
    for (const row of Pages.rows) {
      const [, ...values] = shown.find(([name]) => name === row.name) ?? []
      const found = measured.get(Pages.titlesOf(row).join(": "))?.slice(0, values.length) ?? []
      expect(values.length).toBeGreaterThan(2)
      expect([row.name, ...values.map(medianOf)]).toEqual([row.name, ...found.map(medianOf)])
    }
  })
})
