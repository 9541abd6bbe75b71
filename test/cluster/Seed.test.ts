import { describe, expect, test } from "bun:test"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Seed from "./Seed.fixture.ts"

/** The output of a process that reads its seed twice. The process has an empty PATH, and so no git. */
const asked = (env: Record<string, string>) => {
  const code = `import * as Seed from "@homeostat/testkit/Seed.fixture"; console.log(Seed.current() + Seed.current())`
  const child = Bun.spawnSync([process.execPath, "--conditions=homeostat-source", "-e", code], {
    cwd: import.meta.dir,
    env: { PATH: "", ...env },
    stderr: "pipe"
  })
  return { code: child.exitCode, out: child.stdout.toString(), err: child.stderr.toString() }
}

describe("The seed of the tests", () => {
  test("is equal in every process with the same sources, without git, and each process prints it once", () => {
    const seed = Seed.ofSources(join(import.meta.dir, "../.."))
    expect(asked({})).toEqual({
      code: 0,
      out: `\nRandom cases come from HOMEOSTAT_TEST_SEED=${seed}\n${2 * seed}\n`,
      err: ""
    })
  })

  test("is that of HOMEOSTAT_TEST_SEED", () => {
    expect(asked({ HOMEOSTAT_TEST_SEED: "77" }).out).toBe("\nRandom cases come from HOMEOSTAT_TEST_SEED=77\n154\n")
  })

  test.each(["x", "1.5", "-1", "1073741824"])("HOMEOSTAT_TEST_SEED=%s is refused", (text) => {
    const { code, err } = asked({ HOMEOSTAT_TEST_SEED: text })
    expect(code).toBe(1)
    expect(err).toContain(`HOMEOSTAT_TEST_SEED is not a seed: ${text} (an integer from 0 to 1073741823)`)
  })

  test("changes with the sources, but not with other packages", () => {
    const folder = mkdtempSync(join(tmpdir(), "homeostat-seed-"))
    try {
      const seeds = [
        ["runtime/a.ts", "1"],
        ["runtime/a.ts", "2"],
        ["runtime/b.ts", "2"],
        ["runtime/node_modules/p/index.ts", "3"]
      ].map(([file = "", text = ""]) => {
        mkdirSync(join(folder, file, ".."), { recursive: true })
        writeFileSync(join(folder, file), text)
        return Seed.ofSources(folder)
      })
      expect(new Set(seeds.slice(0, 3)).size).toBe(3)
      expect(seeds[3]).toBe(seeds[2] ?? 0)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})
