import { expect, test } from "bun:test"
import { join } from "node:path"

/** Runs a program with one verb, and returns what reaches the terminal. */
const terminal = (body: string) => {
  const code = `
    import * as Effect from "effect/Effect"
    import * as Dispatch from "${join(import.meta.dir, "Dispatch.ts")}"
    import * as Output from "${join(import.meta.dir, "Output.ts")}"
    import * as Verb from "${join(import.meta.dir, "Verb.ts")}"
    const verb = Verb.make("show", { description: "shows", flags: {}, run: () => ${body} })
    Dispatch.run({ name: "shop", version: "1", description: "a shop" }, [verb])
  `
  const { stderr, stdout } = Bun.spawnSync([process.execPath, "-e", code, "shop", "show"])
  return { stderr: stderr.toString(), stdout: stdout.toString() }
}

/** What a stranger may write into a message or a recording, and its printable form. */
const hostile = [
  ["\u001b[2J", "\\u001b[2J"],
  ["\u0007", "\\u0007"],
  ["\u009b31m", "\\u009b31m"],
  ["\u202efdp.exe", "\\u202efdp.exe"],
  ["\u2028", "\\u2028"],
  ["\r", "\\u000d"],
  ["two\nlines\tand a tab", "two\nlines\tand a tab"]
] as const

test("Output and error lines of a verb have no control character that a terminal obeys", () => {
  const text = JSON.stringify(hostile.map(([raw]) => raw).join("|"))
  const printed = hostile.map(([, shown]) => shown).join("|")
  expect(terminal(`Output.print(${text})`)).toEqual({ stdout: `${printed}\n`, stderr: "" })
  const failed = `Effect.fail(new Error(${text}))`
  expect(terminal(failed)).toEqual({ stdout: "", stderr: `shop: ${printed}\n` })
})

test("JSON output has the same values after the escapes", () => {
  const value = hostile.map(([raw]) => raw)
  expect(JSON.parse(terminal(`Output.print(JSON.stringify(${JSON.stringify(value)}))`).stdout)).toEqual(value)
})
