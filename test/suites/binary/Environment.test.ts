/** Claims of docs/security.md about the program's environment: the program contains Bun, and Bun reads the environment first. */
import { describe, expect } from "bun:test"
import { readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import * as Environment from "@homeostat/runtime/command/Environment"
import * as Directory from "@homeostat/testkit/envtest/Directory"
import { live } from "@homeostat/testkit/Test"
import { Effect } from "effect"
import * as Binary from "./Binary.ts"
import * as Running from "./Running.ts"

const root = join(import.meta.dir, "../../..")

/** A folder whose files ask Bun, in each possible way, to run a script before the program. */
const trap = Effect.gen(function* () {
  const folder = yield* Directory.make
  yield* Effect.promise(async () => {
    await writeFile(join(folder, "trap.js"), "console.log('caught')\n")
    await writeFile(join(folder, "bunfig.toml"), 'preload = ["./trap.js"]\n')
    await writeFile(join(folder, ".env"), "HOMEOSTAT_LOG_LEVEL=loud\nBUN_OPTIONS=--preload=./trap.js\n")
  })
  return folder
})

/** Runs the program in a working directory. */
const inside = (folder: string, args: ReadonlyArray<string>, environment: Running.Environment) =>
  Effect.gen(function* () {
    const command = ["sh", "-c", 'cd "$0" && exec "$@"', folder, yield* Binary.path, ...args]
    const running = yield* Running.start(command, environment)
    return yield* running.ended("40 seconds")
  })

describe("The environment of the program", () => {
  live(
    "can make it run other code, so a user who can set it controls the program",
    () =>
      Effect.gen(function* () {
        const folder = yield* trap
        const bare = Binary.bare(folder)
        const preloaded = yield* Binary.run(["version"], { ...bare, BUN_OPTIONS: `--preload ${folder}/trap.js` })
        expect(preloaded.stdout).toStartWith("caught\nhomeostat ")
        const bun = yield* Binary.run([join(folder, "trap.js")], { ...bare, BUN_BE_BUN: "1" })
        expect(bun.stdout).toBe("caught\n")
      }),
    120_000
  )

  live("is rejected by run if it prints credentials or opens a debugger, with the message of the documentation", () =>
    Effect.gen(function* () {
      const home = yield* Directory.make
      const page = yield* Effect.promise(() => readFile(join(root, "docs/security.md"), "utf8"))
      const values: { readonly [name: string]: string } = {
        BUN_CONFIG_VERBOSE_FETCH: "curl",
        BUN_INSPECT: "ws://127.0.0.1:0/x",
        BUN_OPTIONS: "--smol"
      }
      for (const [name, what] of Object.entries(Environment.refused)) {
        const variable = name.replace("*", "")
        expect(page).toMatch(new RegExp(`^\\| \`${name.replace("*", "\\*")}\` +\\| refused: ${what} *\\|$`, "m"))
        const environment = { ...Binary.plain(home), [variable]: values[variable] }
        const refused = yield* Binary.run(["run"], environment)
        expect(refused.code).toBe(2)
        expect(refused.stderr).toContain(
          `homeostat: forbidden environment variable: ${variable} (${what}; unset it, or set HOMEOSTAT_ALLOW_DEBUG=1)`
        )
        const allowed = yield* Binary.run(["run"], { ...environment, HOMEOSTAT_ALLOW_DEBUG: "1" })
        expect(allowed.code).toBe(1)
        expect(allowed.stderr).toContain(`${variable} is set, and HOMEOSTAT_ALLOW_DEBUG=1 allows it`)
      }
      const insecure = yield* Binary.run(["run"], { ...Binary.bare(home), NODE_TLS_REJECT_UNAUTHORIZED: "0" })
      expect(insecure.stderr).toContain("NODE_TLS_REJECT_UNAUTHORIZED=0 has no effect")
    })
  )

  live("is not extended by files in the working directory", () =>
    Effect.gen(function* () {
      const folder = yield* trap
      const bare = Binary.bare(folder)
      const version = yield* inside(folder, ["version"], bare)
      expect(version).toMatchObject({ code: 0, stdout: expect.stringMatching(/^homeostat /) })
      // An unknown log level would be the first error.
      const run = yield* inside(folder, ["run"], bare)
      expect(run.code).toBe(1)
      expect(run.stderr).toContain("no cluster")
    })
  )
})
