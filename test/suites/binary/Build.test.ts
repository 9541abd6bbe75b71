/** A build reports errors in its arguments and its environment. */
import { afterAll, describe, expect, test } from "bun:test"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Process from "@homeostat/testkit/envtest/Process"
import { live } from "@homeostat/testkit/Test"
import { Effect } from "effect"
import recorded from "../../../deploy/build/executables.json" with { type: "json" }
import * as Target from "../../../deploy/build/Target.ts"
import manifest from "../../../package.json" with { type: "json" }

const root = join(import.meta.dir, "../../..")

/** A cache of Bun with another program in place of the executable for arm64. */
const cache = mkdtempSync(join(tmpdir(), "homeostat-cache-"))
const replaced = join(cache, `bun-linux-aarch64-v${Bun.version}`)
writeFileSync(replaced, "another program")
afterAll(() => rmSync(cache, { recursive: true }))

test("The checksums of Bun's executables are those of the pinned version, for each target", () => {
  expect(manifest.packageManager).toBe(`bun@${recorded.version}`)
  expect(Object.keys(recorded.sha256)).toEqual([...Target.all])
})

describe("A build with an unsupported option", () => {
  for (const [args, line, environment] of [
    [["--target", "linux-mips"], 'unknown target: "linux-mips" (must be one of linux-x64, '],
    [["--everything"], "Unknown option '--everything'"],
    [["--outdir", "/dev/null"], "/dev/null can't be written to (EEXIST: "],
    [["--outdir", "/dev/null/out"], "/dev/null/out can't be written to (ENOTDIR: "],
    [
      ["--target", "linux-arm64"],
      `Bun's executable for linux-arm64 differs from the release: ${replaced} has the SHA-256 `,
      { BUN_INSTALL_CACHE_DIR: cache }
    ],
    [[], 'invalid SOURCE_DATE_EPOCH: "abc" (must be seconds', { SOURCE_DATE_EPOCH: "abc" }],
    [[], 'invalid SOURCE_DATE_EPOCH: "999999999999" (must be seconds', { SOURCE_DATE_EPOCH: "999999999999" }]
  ] as const) {
    live(`fails with one line: ${[...Object.entries(environment ?? {}).flat(), ...args].join(" ")}`, () =>
      Effect.gen(function* () {
        const { exitCode, stderr } = yield* Process.run(process.execPath, [join(root, "deploy/build.ts"), ...args], {
          env: { ...process.env, ...environment }
        })
        expect(exitCode).toBe(1)
        expect(stderr).toStartWith(`build: ${line}`)
        expect(stderr.trimEnd()).not.toContain("\n")
      })
    )
  }
})
