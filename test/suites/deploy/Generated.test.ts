/** The generated files in `deploy/` match the code. */
import { describe, expect, test } from "bun:test"
import { join } from "node:path"
import { Glob } from "bun"
import { Effect } from "effect"
import { program } from "../../../controllers/main.ts"
import * as Generated from "../../../deploy/generate/Generated.ts"

const folder = join(import.meta.dir, "../../../deploy")

const committed = await Promise.all(
  Generated.folders
    .flatMap((name) => Array.from(new Glob(`${name}/**/*`).scanSync(folder)))
    .map(async (path) => [path, await Bun.file(join(folder, path)).text()] as const)
)

describe("The generated folders of deploy", () => {
  test("contain the declarations of the controllers, as `bun run generate` writes them", async () => {
    const generated = await Effect.runPromise(Generated.files(program))
    const found = new Map(committed)
    const paths = [...new Set([...generated.keys(), ...found.keys()])]
    const stale = paths.filter((path) => generated.get(path) !== found.get(path))
    expect(stale.map((path) => `${path} is not what the code says: run \`bun run generate\``)).toEqual([])
  })

  test("contain a kind once that two controllers reconcile", async () => {
    const twice = [...program.controllers, ...program.controllers]
    const generated = await Effect.runPromise(Generated.files({ ...program, controllers: twice }))
    const found = committed.filter(([path]) => path.startsWith("crds/") || path === "rbac/people.yaml")
    expect(found.map(([path]) => [path, generated.get(path)])).toEqual(found.map((one) => [...one]))
    expect([...generated.keys()].sort()).toEqual(committed.map(([path]) => path).sort())
  })

  test("name their generator at the top of each file", () => {
    const silent = committed.filter(([, text]) => !/^# Written by `bun run generate`/m.test(text))
    expect(silent.map(([path]) => path)).toEqual([])
  })
})
