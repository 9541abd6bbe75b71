/** What follows from code in `deploy/` is what the code says. */
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

/** Said beside the difference, as it is all that is to be done about it. */
const remedy = "run `bun run generate` and commit what it writes"

describe("deploy/crds and deploy/rbac", () => {
  test("hold what the controllers declare, as `bun run generate` writes it", async () => {
    const generated = await Effect.runPromise(Generated.files(program))
    const files = Object.fromEntries(generated)
    expect({ remedy, files: Object.fromEntries(committed) }).toEqual({ remedy, files })
  })

  test("say at the top of each file what has written it", () => {
    const silent = committed.filter(([, text]) => !/^# Written by `bun run generate`/m.test(text))
    expect(silent.map(([path]) => path)).toEqual([])
  })
})
