/** The evidence for the guarantees and comparisons of the docs exists. */
import { describe, expect, test } from "bun:test"
import { join } from "node:path"
import * as Evidence from "../../../docs/generate/Evidence.ts"
import { all, root } from "./Modules.ts"

const parity = await Bun.file(join(root, "docs/parity.md")).text()
const topics = await Promise.all(
  ["manager", "controller", "cache", "client", "webhooks", "metrics"].map((topic) =>
    Bun.file(join(root, `docs/parity/${topic}.md`)).text()
  )
)
const concepts = await Bun.file(join(root, "docs/concepts.md")).text()

/** A row of a table of two columns, with the heading above it. */
interface Row {
  readonly heading: string
  readonly id: string
  readonly text: string
}

const rowsOf = (page: string): ReadonlyArray<Row> => {
  let heading = ""
  return page.split("\n").flatMap((line, at, lines) => {
    if (line.startsWith("## ")) heading = line.slice(3)
    if (line.startsWith("# Parity: ")) heading = line.slice("# Parity: ".length)
    const [, id = "", text = ""] = /^\| ([^|]+?) +\| ([^|]*?) *\|$/.exec(line) ?? []
    const isHead = /^\| -+ \|/.test(lines[at + 1] ?? "") || /^\|\s*-/.test(lines[at + 1] ?? "")
    return id === "" || id.startsWith("-") || isHead ? [] : [{ heading, id, text }]
  })
}

const testsOf = (title: string, id: string): ReadonlyArray<string> =>
  Object.values(Evidence.sections[title]?.rows[id] ?? {}).flat()

/** True if a text contains the name as a string literal. A name that ends with … is the beginning of a template. */
const mentions = (text: string, name: string): boolean =>
  name.endsWith("…")
    ? text.includes(`\`${name.slice(0, -1)}\${`)
    : text.includes(`"${name}"`) || text.includes(`} ${name}\``)

describe("docs/evidence.md", () => {
  test("has a test for each of the 34 behaviours and the 13 defects of controller-runtime", () => {
    const count = (title: string) =>
      Object.values(Evidence.sections[title]?.rows ?? {}).filter((tests) => Object.keys(tests).length > 0).length
    expect(count("Behaviours that controller-runtime's tests show")).toBe(34)
    expect(count("Defects of controller-runtime")).toBe(13)
  })

  test("names only tests that exist", async () => {
    const lost: Array<string> = []
    for (const { rows } of Object.values(Evidence.sections)) {
      for (const [file, names] of Object.values(rows).flatMap((tests) => Object.entries(tests))) {
        const source = Bun.file(join(root, file))
        const text = (await source.exists()) ? await source.text() : ""
        for (const name of names) if (!mentions(text, name)) lost.push(`${file}: ${name}`)
      }
    }
    expect(lost).toEqual([])
  })
})

describe("The pages of docs/parity", () => {
  const rows = topics.flatMap(rowsOf)
  const verdictOf = ({ text }: Row) => /^\*\*(has|differently|has not)\*\*(: .|$)/.exec(text)?.[1] ?? "none"

  test("have a row for each listed feature of controller-runtime, by topic", () => {
    const counts = new Map<string, number>()
    for (const { heading } of rows) counts.set(heading, (counts.get(heading) ?? 0) + 1)
    expect([...counts]).toEqual([
      ["Manager, lifecycle, leader election", 27],
      ["Controller, builder, queue", 37],
      ["Cache", 15],
      ["Client, helpers", 27],
      ["Webhooks, certificates", 3],
      ["Metrics, events, test kits", 15]
    ])
  })

  test("have evidence for each feature, and a reason for each difference", () => {
    for (const row of rows) {
      const verdict = verdictOf(row)
      expect([row.id, verdict]).not.toEqual([row.id, "none"])
      if (verdict !== "has") expect([row.id, row.text]).toEqual([row.id, expect.stringMatching(/\*\*: .{8,}/)])
      if (verdict !== "has not")
        expect([row.id, testsOf(`Parity: ${row.heading}`, row.id).length]).not.toEqual([row.id, 0])
    }
  })

  test("have no alignment blanks", () => {
    expect([parity, ...topics].join("\n")).not.toMatch(/[^\n] {2,}\||-{4,}/)
  })

  test("are counted and linked by docs/parity.md, which lists the missing features", () => {
    const count = (verdict: string) => rows.filter((row) => verdictOf(row) === verdict).length
    expect(parity).toContain(
      `${rows.length} features: ${count("has")} are here as they are, ${count("differently")} in another way, and ${count("has not")} are missing`
    )
    const missing = rows.filter((row) => verdictOf(row) === "has not").map(({ id }) => id)
    expect(
      rowsOf(parity)
        .filter(({ heading }) => heading === "Missing")
        .map(({ id }) => id)
    ).toEqual(missing)
    for (const heading of new Set(rows.map((row) => row.heading))) {
      const counts = ["has", "differently", "has not"].map(
        (verdict) => rows.filter((row) => row.heading === heading && verdictOf(row) === verdict).length
      )
      const [has = 0, differently = 0, hasNot = 0] = counts
      expect(parity).toMatch(
        new RegExp(`\\[${heading}\\].* \\| ${has + differently + hasNot} \\| ${counts.join(" \\| ")} \\|`)
      )
    }
  })
})

test("docs/webapp-comparison.md has a test for each feature that the WebApp has, and for no other", async () => {
  const page = await Bun.file(join(root, "docs/webapp-comparison.md")).text()
  const rows = Array.from(
    page.matchAll(/^\| ([^|]+?) +\| \*\*(has|part|no)\*\*(?: \([^)]*\))? +(?:\| [^|]+ ){4}\|$/gm),
    ([, id = "", is]) => ({ id, is })
  )
  expect(rows).toHaveLength(page.split("\n").filter((line) => line.startsWith("| ")).length - 2)
  const title = "WebApp and its peers"
  for (const { id, is } of rows) expect([id, testsOf(title, id).length > 0]).toEqual([id, is === "has"])
  expect(Object.keys(Evidence.sections[title]?.rows ?? {}).filter((id) => rows.every((row) => row.id !== id))).toEqual(
    []
  )
})

test("each guarantee of docs/concepts.md has assumptions and evidence", () => {
  const rows = rowsOf(concepts).filter(({ heading }) => heading === "Guarantees")
  expect(rows.length).toBeGreaterThan(10)
  for (const { id, text } of rows) {
    expect([id, testsOf("Guarantees", id).length]).not.toEqual([id, 0])
    expect([id, text]).not.toEqual([id, ""])
  }
})

test("every defined metric is updated", () => {
  const isDefinition = (file: string) => /^runtime\/src\/telemetry\/\w*Metric\.ts$/.test(file)
  const metrics = all
    .filter(({ file }) => isDefinition(file))
    .flatMap(({ text }) =>
      Array.from(text.matchAll(/^export const (\w+) = (?:counter|gauge|histogram)\(/gm), ([, name]) => name)
    )
  expect(metrics.length).toBeGreaterThan(50)
  const unfed = metrics.filter(
    (name) => !all.some(({ file, text }) => !isDefinition(file) && new RegExp(`Metric\\.${name}\\b`).test(text))
  )
  expect(unfed).toEqual([])
})

test("no module reads the text of a stack", () => {
  const found = all.filter(({ text }) => /\.stack\b/.test(text)).map(({ file }) => file)
  expect(found).toEqual([])
})
