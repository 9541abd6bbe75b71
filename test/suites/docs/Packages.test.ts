import { expect, test } from "bun:test"
import { join } from "node:path"
import { Glob } from "bun"

const root = join(import.meta.dir, "../../..")

const files = Array.from(new Glob("**/*.md").scanSync(root)).filter((file) => !/(^|\/)(node_modules|dist)\//.test(file))

/** A program that runs the code of a package, and its words. */
const commands = /\b(?:npx|bunx|npm (?:exec|install|i)|(?:bun|pnpm|yarn) (?:add|x|dlx))\b([^\n`|;&)]*)/g

/** The names of this project are not registered: a person who registers one runs code on the machine of each reader. */
const unregistered = /(?:^|[\s=])(?:kubemem|homeostat|@homeostat\/[a-z]+)(?:@[^\s]*)?(?=\s|$)/

/** Commands that fetch such a name. A path to a package file before the name makes it the program of that file. */
const fetching = (text: string): ReadonlyArray<string> =>
  Array.from(text.matchAll(commands), ([command, words = ""]) => ({ command, words }))
    .filter(({ words }) => unregistered.test(words) && !/--package[= ]\.\//.test(words))
    .map(({ command }) => command.trim())

test("A command that fetches a name of this project from the registry is found", () => {
  const found = [
    "npx kubemem start",
    "npx --yes kubemem@1 stop",
    "bun add @homeostat/runtime",
    "bunx homeostat version"
  ]
  for (const command of found) expect(fetching(`Run \`${command}\`.`)).toEqual([command])
  const fine = [
    "npx --yes bun@1.4.5 run demo",
    "npx --yes --package ./dist/packages/kubemem-1.tgz kubemem",
    "bun add ./packages/homeostat-runtime-1.tgz",
    "bun add effect@4"
  ]
  for (const command of fine) expect(fetching(command)).toEqual([])
})

test("A document fetches no package of this project, which is not published", async () => {
  const texts = await Promise.all(
    files.map(async (file) => fetching(await Bun.file(join(root, file)).text()).map((command) => `${file}: ${command}`))
  )
  expect(files.length).toBeGreaterThan(50)
  expect(texts.flat()).toEqual([])
})
