import { expect, test } from "bun:test"
import { join } from "node:path"

const root = join(import.meta.dir, "../../..")
const read = (path: string): Promise<string> => Bun.file(join(root, path)).text()

test("the examples of the testkit's README are tests", async () => {
  const readme = await read("test/cluster/README.md")
  const [first, ...others] = Array.from(readme.matchAll(/^```ts\n(.*?)^```$/gms), ([, code = ""]) => code)
  const [, ...lines] = (await read("test/suites/testkit/Readme.test.ts")).split("\n")
  expect(first).toBe(lines.join("\n"))
  const trouble = await read("test/suites/testkit/Trouble.test.ts")
  expect(others.length).toBeGreaterThan(0)
  expect(others.filter((code) => !trouble.includes(code))).toEqual([])
})
