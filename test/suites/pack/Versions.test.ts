/** The versions in the page about a project outside of this repository. */
import { expect, test } from "bun:test"
import { join } from "node:path"
import * as Markdown from "../docs/Markdown.ts"
import * as Project from "./Project.ts"

const root = join(import.meta.dir, "../../..")

test("the page has the versions of this repository", async () => {
  const { workspaces } = await Bun.file(join(root, "package.json")).json()
  const page = await Bun.file(join(root, Project.page)).text()
  const block = Markdown.blocks(page).find(({ attributes }) => attributes.title === "package.json")
  const { dependencies, devDependencies } = JSON.parse(block?.text ?? "{}")
  for (const [name, version] of Object.entries({ ...dependencies, ...devDependencies })) {
    if (!name.startsWith("@homeostat/")) expect([name, version]).toEqual([name, workspaces.catalog[name]])
  }
})
