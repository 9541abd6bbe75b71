/** Each `@example` compiles and runs. */
import { afterAll, expect, test } from "bun:test"
import { rmSync } from "node:fs"
import * as Bodies from "./Bodies.ts"
import * as Example from "./Example.ts"

const folder = Example.write(Example.all)

afterAll(() => rmSync(folder, { recursive: true, force: true }))

const run = (...words: ReadonlyArray<string>) => Example.run(folder, ...words)

test("the examples compile", () => {
  const { exitCode, output } = run("x", "tsc", "-p", ".", "--noEmit", "--checkers", "1")
  expect(output).toBe("")
  expect(exitCode).toBe(0)
}, 120_000)

test("the examples of tests pass", () => {
  const files = Example.tested("test").map(({ file }) => `./${file}`)
  expect(files.length).toBeGreaterThan(3)
  const { exitCode, output } = run("test", ...files)
  expect(output).toContain(" 0 fail")
  expect(exitCode).toBe(0)
}, 60_000)

for (const { file, name } of Example.tested("program")) {
  test(`the example is a program: ${name}`, () => {
    expect(run(file, "version")).toMatchObject({ exitCode: 0 })
  })
}

Bodies.test(folder, 1)
