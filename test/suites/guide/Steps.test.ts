/** Each kind of block becomes a step, and every block of the guide is a step. */
import { describe, expect, test } from "bun:test"
import { join } from "node:path"
import * as Steps from "./Steps.ts"

const fence = "```"

const page = (...blocks: ReadonlyArray<readonly [info: string, text: string]>) =>
  blocks.map(([info, text]) => `${fence}${info}\n${text}\n${fence}\n`).join("\nAnd then:\n\n")

describe("A block of the guide", () => {
  test("is a file to write, a change of a file, commands or their output", () => {
    const steps = Steps.of(
      page(
        ['ts title="a.ts"', "const a = 1"],
        ['diff title="a.ts"', "-const a = 1\n+const a = 2"],
        ["sh", "cat a.ts"],
        ["text", "const a = 2"],
        ['sh terminal="manager"', "bun a.ts"],
        ['text terminal="manager"', "hello"]
      )
    )
    expect(steps).toEqual([
      { _tag: "Write", line: 1, path: "a.ts", text: "const a = 1\n" },
      { _tag: "Edit", line: 7, path: "a.ts", diff: "-const a = 1\n+const a = 2\n" },
      { _tag: "Run", line: 14, script: "cat a.ts\n", terminal: undefined, shows: "const a = 2\n" },
      { _tag: "Run", line: 26, script: "bun a.ts\n", terminal: "manager", shows: undefined },
      { _tag: "Look", line: 32, terminal: "manager", shows: "hello\n" }
    ])
  })

  for (const [what, blocks] of [
    ["of code that is no file", page(["ts", "const a = 1"])],
    ["of no language", page(["", "echo"])],
    ["of output that nothing printed", page(["text", "hello"])],
    ["of output after output", page(["sh", "echo"], ["text", "a"], ["text", "b"])],
    ["with an attribute of another spelling", page(['sh termnal="x"', "echo"])]
  ] as const) {
    test(`is invalid with the number of its line: ${what}`, () => expect(() => Steps.of(blocks)).toThrow(/^line \d+: /))
  }

  test("exists in several pages", () => expect(Steps.pages.length).toBeGreaterThan(3))
  for (const name of Steps.pages) {
    test(`in ${name} is a step or an output`, async () => {
      expect(Steps.of(await Bun.file(join(Steps.folder, name)).text()).length).toBeGreaterThan(0)
    })
  }
})

describe("A change of a file", () => {
  test("is applied at its only matching lines", () => {
    const text = "a {\n  b\n}\nb\n"
    expect(Steps.changed(text, " a {\n-  b\n+  c\n+\n+  d\n")).toBe("a {\n  c\n\n  d\n}\nb\n")
    expect(() => Steps.changed(text, "-c\n+d\n")).toThrow("0 times")
    expect(() => Steps.changed("b\nb\n", "-b\n+c\n")).toThrow("2 times")
  })
})

describe("An output", () => {
  test("matches exactly, except for spaces and …", () => {
    expect(Steps.shows("NAME   AGE\nblue   3s\n", "NAME  AGE\nblue  …\n")).toBe(true)
    expect(Steps.shows("a\nb\nc\nd", "a\n…\nd")).toBe(true)
    expect(Steps.shows("a\nd", "a\n…\nd")).toBe(true)
    expect(Steps.shows("a (1.5)\n", "a (1.5)")).toBe(true)
    expect(Steps.shows("a (1x5)\n", "a (1.5)")).toBe(false)
    expect(Steps.shows("a\nb\n", "a")).toBe(false)
    expect(Steps.shows("a\n", "a\nb")).toBe(false)
  })

  test("of a running program has the lines in order", () => {
    const printed = "10:00 starts\n10:01 noise\n10:02 works\n"
    expect(Steps.begins(printed, "… starts\n…\n… works")).toBe(true)
    expect(Steps.begins(printed, "… works\n… starts")).toBe(false)
    expect(Steps.begins(printed, "… stops")).toBe(false)
  })
})
