/** Each `@example` compiles, and each one that is a test or a program runs. */
import { afterAll, expect, test } from "bun:test"
import { rmSync } from "node:fs"
import * as Example from "./Example.ts"

const folder = Example.write(Example.all)

afterAll(() => rmSync(folder, { recursive: true, force: true }))

const run = (...words: ReadonlyArray<string>) => Example.run(folder, ...words)

const of = (form: Example.Form) =>
  Example.all.filter((example) => example.form === form && !Example.real.includes(example))

test("the examples compile", () => {
  const { exitCode, output } = run("x", "tsc", "-p", ".", "--noEmit", "--checkers", "1")
  expect(output).toBe("")
  expect(exitCode).toBe(0)
}, 120_000)

test("the examples of tests pass", () => {
  const files = of("test").map(({ file }) => `./${file}`)
  expect(files.length).toBeGreaterThan(3)
  const { exitCode, output } = run("test", ...files)
  expect(output).toContain(" 0 fail")
  expect(exitCode).toBe(0)
}, 60_000)

for (const { file, name } of of("program")) {
  test(`the example is a program: ${name}`, () => {
    expect(run(file, "version")).toMatchObject({ exitCode: 0 })
  })
}
