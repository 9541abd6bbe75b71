/** A build reports errors in its arguments and its environment. */
import { describe, expect } from "bun:test"
import { join } from "node:path"
import * as Process from "@homeostat/testkit/envtest/Process"
import { live } from "@homeostat/testkit/Test"
import { Effect } from "effect"

const root = join(import.meta.dir, "../../..")

describe("A build with an unsupported option", () => {
  for (const [args, line, environment] of [
    [["--target", "linux-mips"], 'unknown target: "linux-mips" (must be one of linux-x64, '],
    [["--everything"], "Unknown option '--everything'"],
    [["--outdir", "/dev/null"], "/dev/null can't be written to (EEXIST: "],
    [["--outdir", "/dev/null/out"], "/dev/null/out can't be written to (ENOTDIR: "],
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
