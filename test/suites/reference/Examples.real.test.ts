/** The examples of the reference that start a real control plane. */
import { afterAll, expect, test } from "bun:test"
import { rmSync } from "node:fs"
import * as Example from "./Example.ts"

const folder = Example.write(Example.real)

afterAll(() => rmSync(folder, { recursive: true, force: true }))

for (const { file, name } of Example.real) {
  test(`the example runs on a real control plane: ${name}`, () => {
    const { exitCode, output } = Example.run(folder, "test", "--timeout", "100000", `./${file}`)
    expect(output).toContain(" 1 pass")
    expect(exitCode).toBe(0)
  }, 120_000)
}
