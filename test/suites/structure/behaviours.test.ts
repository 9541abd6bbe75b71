/** What docs/controller-runtime.md says is shown by a test is shown by one, and two promises that only the text of the modules can show. */
import { expect, test } from "bun:test"
import { dirname, join } from "node:path"
import { all, root } from "./Modules.ts"

const page = join(root, "docs/controller-runtime.md")

/** A row of the tables, by its number or letter. */
interface Row {
  readonly id: string
  readonly proof: string
}

const rows: ReadonlyArray<Row> = Array.from(
  (await Bun.file(page).text()).matchAll(/^\| (\d+|[a-z])\s+\|[^|]*\|([^|]*)\|$/gm),
  ([, id = "", proof = ""]) => ({ id, proof })
)

/** The sentences of a row, each with the file that it stands in. */
const sentences = ({ proof }: Row) =>
  Array.from(proof.matchAll(/`([^`]+\.test\.ts)`((?: "[^"]+")+)/g), ([, file = "", names = ""]) =>
    Array.from(names.matchAll(/"([^"]+)"/g), ([, sentence = ""]) => ({
      file: file.startsWith("test/") ? file : `runtime/src/${file}`,
      sentence
    }))
  ).flat()

/** Whether a text has the sentence as a string of its own; one that ends with … stands for those of a template. */
const says = (text: string, sentence: string): boolean =>
  sentence.endsWith("…")
    ? text.includes(`\`${sentence.slice(0, -1)}\${`)
    : text.includes(`"${sentence}"`) || text.includes(`} ${sentence}\``)

test("the page has a row for each of the 34 behaviours and the 13 defects, with a test of ours in each", () => {
  const ids = [...Array.from({ length: 34 }, (_, at) => `${at + 1}`), ..."abcdefghijklm"]
  expect(rows.map(({ id }) => id)).toEqual(ids)
  expect(rows.filter((row) => sentences(row).length === 0)).toEqual([])
})

test("each sentence that the page names is the name of a test in that file", async () => {
  const lost: Array<string> = []
  for (const { file, sentence } of rows.flatMap(sentences)) {
    const source = Bun.file(join(root, file))
    const text = (await source.exists()) ? await source.text() : ""
    if (!says(text, sentence)) lost.push(`${file}: ${sentence}`)
  }
  expect(lost).toEqual([])
})

test("each decision that the page links is there", async () => {
  const links = Array.from((await Bun.file(page).text()).matchAll(/\]\(([^)]+)\)/g), ([, link = ""]) => link)
  expect(links.length).toBeGreaterThan(5)
  for (const link of links) expect([link, await Bun.file(join(dirname(page), link)).exists()]).toEqual([link, true])
})

test("a metric that is defined is fed by somebody", () => {
  const file = "runtime/src/telemetry/Metric.ts"
  const text = all.find((module) => module.file === file)?.text ?? ""
  const metrics = Array.from(text.matchAll(/^export const (\w+) = (?:counter|gauge|histogram)\(/gm), ([, name]) => name)
  expect(metrics.length).toBeGreaterThan(20)
  const unfed = metrics.filter(
    (name) => !all.some((module) => module.file !== file && new RegExp(`\\bMetric\\.${name}\\b`).test(module.text))
  )
  expect(unfed).toEqual([])
})

test("no module decides by the text of a stack", () => {
  const found = all.filter(({ text }) => /\.stack\b/.test(text)).map(({ file }) => file)
  expect(found).toEqual([])
})
