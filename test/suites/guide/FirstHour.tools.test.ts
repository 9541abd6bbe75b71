/**
 * A new user with a shell, Node and npm follows the README and docs/guide/own-repository.md on a clean clone. The script runs the
 * commands of the pages unchanged. In place of `bun` it uses the command `npx --yes bun@…` of the README.
 */
import { expect } from "bun:test"
import { mkdir } from "node:fs/promises"
import { join } from "node:path"
import * as Directory from "@homeostat/testkit/envtest/Directory"
import * as Process from "@homeostat/testkit/envtest/Process"
import { live } from "@homeostat/testkit/Test"
import { Effect } from "effect"
import * as Release from "../binary/Release.ts"
import * as Markdown from "../docs/Markdown.ts"

const root = join(import.meta.dir, "../../..")

const read = async (folder: string, page: string) => Markdown.blocks(await Bun.file(join(folder, page)).text())

/** The commands under some headings of a page, with `bun` replaced for a machine without Bun. */
const commandsOf = (blocks: ReadonlyArray<Markdown.Block>, bun: string, ...headings: ReadonlyArray<string>): string => {
  const found = blocks.filter(({ heading, language }) => language === "sh" && headings.includes(heading ?? ""))
  expect(found.length).toBeGreaterThanOrEqual(headings.length)
  return found.map(({ text }) => text.replaceAll(/^bun /gm, `${bun} `)).join("")
}

live(
  "A new user sees the demo within a minute, and has a controller that passes its test within fifteen minutes",
  () =>
    Effect.gen(function* () {
      const home = yield* Directory.make
      const [origin, clone, own] = [join(home, "origin"), join(home, "homeostat"), join(home, "sites")]
      yield* Effect.promise(() => mkdir(origin))
      yield* Release.commit(origin)
      yield* Release.run(["git", "clone", "--quiet", origin, clone])

      const readme = yield* Effect.promise(() => read(clone, "README.md"))
      const page = yield* Effect.promise(() => read(clone, "docs/guide/own-repository.md"))
      const demo = commandsOf(readme, "", "Try it without a cluster")
      const [bun = ""] = /npx --yes bun@[\d.]+/.exec(demo) ?? []
      for (const { attributes, text } of page) {
        if (attributes.title !== undefined) {
          const { title } = attributes
          yield* Effect.promise(() => Bun.write(join(own, title), text))
        }
      }
      const script = [
        `cd '${clone}'`,
        "date '+at %s'",
        demo,
        "date '+at %s'",
        commandsOf(page, bun, "Pack the packages"),
        `export HOMEOSTAT='${clone}'`,
        `cd '${own}'`,
        commandsOf(page, bun, "Set up the project", "Test the controller"),
        "date '+at %s'"
      ].join("\n")
      const { exitCode, stderr, stdout } = yield* Process.run(join(root, ".ci/bare"), ["sh", "-ec", script])
      const output = `${stdout}${stderr}`
      expect({ exitCode, output: exitCode === 0 ? "" : output }).toEqual({ exitCode: 0, output: "" })

      expect(stdout).toMatch(/demo-app is Running, 3 of 3 ready/)
      expect(output).toContain("Blocked 1 postinstall")
      expect(output).toContain("the status names the ConfigMap with the page")
      expect(output).toMatch(/^ 1 pass$/m)
      const [start = 0, shown = 0, tested = 0] = Array.from(stdout.matchAll(/^at (\d+)$/gm), ([, at]) => Number(at))
      const seconds = { demo: shown - start, controller: tested - start }
      process.stdout.write(`  demo ${seconds.demo} s, controller ${seconds.controller} s\n`)
      expect(seconds.demo).toBeLessThanOrEqual(60)
      expect(seconds.controller).toBeLessThanOrEqual(900)
    }),
  1_200_000
)
