import { expect, test } from "bun:test"
import { join } from "node:path"

const root = join(import.meta.dir, "../../..")
const read = (path: string): Promise<string> => Bun.file(join(root, path)).text()

test("the example of the testkit's README is one of its tests", async () => {
  const readme = await read("test/cluster/README.md")
  const examples = Array.from(readme.matchAll(/^```ts\n(.*?)^```$/gms), ([, code]) => code)
  const [, ...lines] = (await read("test/suites/testkit/Readme.test.ts")).split("\n")
  expect(examples).toEqual([lines.join("\n")])
})
