import { describe, expect, test } from "bun:test"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Batch from "./Batch.ts"

/** Writes files with these contents, and runs them as a batch. */
const run = async (files: { readonly [name: string]: string }) => {
  const folder = mkdtempSync(join(tmpdir(), "homeostat-batch-"))
  try {
    for (const [name, text] of Object.entries(files)) {
      writeFileSync(join(folder, name), `import { describe, expect, test } from "bun:test"\n${text}`)
    }
    return await Batch.run(folder, Object.keys(files), {})
  } finally {
    rmSync(folder, { recursive: true })
  }
}

describe("A batch", () => {
  test("names the tests that passed and failed, by file and group", async () => {
    const { error, failed, passed } = await run({
      "a.test.ts": `describe("one", () => describe("two", () => { test('of "x" & <y>', () => {}); test("bad", () => expect(1).toBe(2)) }))`,
      "b.test.ts": `test("top", () => {})`
    })
    expect(passed).toEqual([
      { file: "a.test.ts", name: 'one > two > of "x" & <y>' },
      { file: "b.test.ts", name: "top" }
    ])
    expect(failed).toEqual([{ file: "a.test.ts", name: "one > two > bad" }])
    expect(error).toBeUndefined()
  })

  test("shows the last lines of each failed test", async () => {
    const report = await run({
      "a.test.ts": `test("good", () => {})\ntest("bad", () => { console.error("details"); expect(1).toBe(2) })\ntest("last", () => {})`
    })
    const [excerpt = "", ...others] = Batch.excerpts(report)
    expect(others).toEqual([])
    expect(excerpt).toContain("details")
    expect(excerpt).toContain("Expected: 2")
    expect(excerpt).toMatch(/\(fail\) bad[^\n]*$/)
    expect(excerpt).not.toContain("(pass)")
  })

  test("measures a file whose tests run at the same time by the clock", () => {
    const xml = `<testsuites><testsuite name="a.test.ts" file="a.test.ts" time="0.21">
      <testsuite name="both" file="a.test.ts" time="0.4">
        <testcase name="one" classname="both" time="0.2" file="a.test.ts" />
        <testcase name="two" classname="both" time="0.2" file="a.test.ts" />
      </testsuite></testsuite></testsuites>`
    expect([...Batch.read(xml, ["a.test.ts"], 0).seconds]).toEqual([["a.test.ts", 0.21]])
  })

  test("counts a test that a file skips as failed", async () => {
    const { failed, passed } = await run({
      "a.test.ts": `test("fine", () => {})\ntest.skip("later", () => {})\ndescribe("some day", () => { test.todo("more") })`
    })
    expect(passed).toEqual([{ file: "a.test.ts", name: "fine" }])
    expect(failed).toEqual([
      { file: "a.test.ts", name: "later (skipped)" },
      { file: "a.test.ts", name: "some day > more (skipped)" }
    ])
  })

  test("reports a file that cannot be loaded", async () => {
    const { error, passed } = await run({
      "a.test.ts": `test("fine", () => {})`,
      "b.test.ts": `throw new Error("broken")`
    })
    expect(passed).toHaveLength(1)
    expect(error).toBe("no test has run in b.test.ts")
  })

  test("reports a process that a test ends", async () => {
    const { error, output } = await run({ "a.test.ts": `test("fatal", () => process.exit(0))` })
    expect(error).toBe("the process ended early, with exit code 0")
    expect(output).toContain("a.test.ts")
  })

  test("counts an error after the last test as a failed test", async () => {
    const { failed } = await run({
      "a.test.ts": `import { afterAll } from "bun:test"\ntest("fine", () => {})\nafterAll(() => { throw new Error("late") })`
    })
    expect(failed).toEqual([{ file: "a.test.ts", name: "(unnamed)" }])
  })
})
