/** The tests that docs/controller-runtime.md, docs/parity.md and docs/concepts.md name exist. */
import { describe, expect, test } from "bun:test"
import { join } from "node:path"
import { all, root } from "./Modules.ts"

const read = (page: string) => Bun.file(join(root, "docs", page)).text()

const pages = {
  "controller-runtime.md": await read("controller-runtime.md"),
  "parity.md": await read("parity.md"),
  "concepts.md": await read("concepts.md")
}

/** A row of a table, with its tests in the last cell. */
interface Row {
  readonly id: string
  readonly verdict: string
  readonly proof: string
}

/** The rows of a page's tables of three columns with their headings. */
const rowsOf = (page: string): ReadonlyArray<Row & { readonly heading: string }> => {
  let heading = ""
  return page.split("\n").flatMap((line) => {
    if (line.startsWith("## ")) heading = line.slice(3)
    const [, id = "", verdict = "", proof = ""] = /^\| ([^|]+?) +\| ([^|]*?) *\| *([^|]*?) *\|$/.exec(line) ?? []
    return id === "" || id.startsWith("-") ? [] : [{ id, verdict, proof, heading }]
  })
}

/** The names of tests in a text, with their files. */
const sentences = (text: string) =>
  Array.from(text.matchAll(/`([^`\s]+\.test\.ts)`((?:\s+"[^"]+")+)/g), ([, file = "", names = ""]) =>
    Array.from(names.matchAll(/"([^"]+)"/g), ([, sentence = ""]) => ({
      file: /^(test|observability|controllers)\//.test(file) ? file : `runtime/src/${file}`,
      sentence: sentence.replaceAll(/\s+/g, " ")
    }))
  ).flat()

/** Whether a text contains the name as a string. A name that ends with … is the beginning of a template. */
const says = (text: string, sentence: string): boolean =>
  sentence.endsWith("…")
    ? text.includes(`\`${sentence.slice(0, -1)}\${`)
    : text.includes(`"${sentence}"`) || text.includes(`} ${sentence}\``)

describe("docs/controller-runtime.md", () => {
  test("has a row with a test for each of the 34 behaviours and the 13 defects", () => {
    const rows = rowsOf(pages["controller-runtime.md"]).filter(({ id }) => /^(\d+|[a-z])$/.test(id))
    const ids = [...Array.from({ length: 34 }, (_, at) => `${at + 1}`), ..."abcdefghijklm"]
    expect(rows.map(({ id }) => id)).toEqual(ids)
    expect(rows.filter(({ proof }) => sentences(proof).length === 0)).toEqual([])
  })
})

describe("docs/parity.md", () => {
  const rows = rowsOf(pages["parity.md"]).filter(({ proof }) => proof !== "Shown by")
  const verdictOf = ({ verdict }: Row) => /^\*\*(has|differently|has not)\*\*(: .|$)/.exec(verdict)?.[1] ?? "none"

  test("has a row for each feature of controller-runtime, by topic", () => {
    const counts = new Map<string, number>()
    for (const { heading } of rows) counts.set(heading, (counts.get(heading) ?? 0) + 1)
    expect([...counts]).toEqual([
      ["Manager, lifecycle, leader election", 27],
      ["Controller, builder, queue", 37],
      ["Cache", 15],
      ["Client, helpers", 27],
      ["Webhooks, certificates", 12],
      ["Metrics, events, test kits", 15]
    ])
  })

  test("names a test in each row of a feature, and a reason in each difference", () => {
    for (const row of rows) {
      const verdict = verdictOf(row)
      expect([row.id, verdict]).not.toEqual([row.id, "none"])
      if (verdict !== "has") expect([row.id, row.verdict]).toEqual([row.id, expect.stringMatching(/\*\*: .{8,}/)])
      if (verdict !== "has not") expect([row.id, sentences(row.proof).length]).not.toEqual([row.id, 0])
    }
  })

  test("has the right counts", () => {
    const count = (verdict: string) => rows.filter((row) => verdictOf(row) === verdict).length
    expect(pages["parity.md"]).toContain(
      `Of ${rows.length} rows it has ${count("has")}, ${count("differently")} differently, and ${count("has not")} not`
    )
  })
})

describe("docs/concepts.md", () => {
  const rows = rowsOf(pages["concepts.md"]).filter(({ heading }) => heading === "Guarantees")

  test("names a test and an assumption for each guarantee", () => {
    expect(rows.length).toBeGreaterThan(10)
    for (const { id, proof, verdict } of rows.slice(1)) {
      expect([id, sentences(proof).length]).not.toEqual([id, 0])
      expect([id, verdict]).not.toEqual([id, ""])
    }
  })
})

test("each quoted test exists in its file", async () => {
  const lost: Array<string> = []
  for (const [page, text] of Object.entries(pages)) {
    const named = sentences(text)
    expect([page, named.length > 10]).toEqual([page, true])
    for (const { file, sentence } of named) {
      const source = Bun.file(join(root, file))
      const found = (await source.exists()) ? await source.text() : ""
      if (!says(found, sentence)) lost.push(`${page}: ${file}: ${sentence}`)
    }
  }
  expect(lost).toEqual([])
})

test("every defined metric is updated", () => {
  const file = "runtime/src/telemetry/Metric.ts"
  const text = all.find((module) => module.file === file)?.text ?? ""
  const metrics = Array.from(text.matchAll(/^export const (\w+) = (?:counter|gauge|histogram)\(/gm), ([, name]) => name)
  expect(metrics.length).toBeGreaterThan(20)
  const unfed = metrics.filter(
    (name) => !all.some((module) => module.file !== file && new RegExp(`\\bMetric\\.${name}\\b`).test(module.text))
  )
  expect(unfed).toEqual([])
})

test("no module reads the text of a stack", () => {
  const found = all.filter(({ text }) => /\.stack\b/.test(text)).map(({ file }) => file)
  expect(found).toEqual([])
})
