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
  /** The rows of docs/performance.md by scenario and number. */
  const sources: { readonly [row: string]: readonly [scenario: string, number: string] } = {
    "start to ready, empty cluster": ["start on an empty cluster", "to `/readyz` 200, ms"],
    "first pass over 10,000 converged WebApps": ["cold start, all converged", "to all reconciled, s"],
    "CPU of the first pass": ["cold start, all converged", "CPU until then, s"],
    "memory after the first pass": ["cold start, all converged", "RSS after 5 s, MiB"],
    "CPU per new WebApp, last 500 of 5,000": ["create, Services adopted", "CPU per WebApp of the last 500, ms"],
    "peak memory during creations": ["create, Services adopted", "peak RSS, MiB"],
    "writes per new WebApp": ["create, Services adopted", "writes per WebApp"]
  }

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

  test("are those of the measurements in docs/performance.md, rounded", async () => {
    const measured = new Map<string, ReadonlyArray<string>>()
    let scenario = ""
    for (const [first = "", number = "", ...values] of await rows("docs/performance.md")) {
      scenario = first === "" ? scenario : first
      measured.set(`${scenario}: ${number}`, values)
    }
    const shown = await rows("README.md")
    for (const [row, source] of Object.entries(sources)) {
      const values = shown.find(([name]) => name === row)?.slice(1) ?? []
      const [ours, go, , rust] = measured.get(source.join(": ")) ?? []
      const rounded = [ours, go, rust].map((cell, index) => {
        const decimals = /\.(\d+)/.exec(values[index] ?? "")?.[1]?.length ?? 0
        return Number.parseFloat(cell ?? "").toFixed(decimals)
      })
      expect([row, ...values.map((value) => `${Number.parseFloat(value)}`)]).toEqual([
        row,
        ...rounded.map((value) => `${Number.parseFloat(value)}`)
      ])
    }
  })
})
