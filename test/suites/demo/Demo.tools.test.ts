/** `bun run demo --backup` on a machine with Go and without restic. */
import { describe, expect } from "bun:test"
import { mkdir, symlink, writeFile } from "node:fs/promises"
import { join } from "node:path"
import * as Directory from "@homeostat/testkit/envtest/Directory"
import { live } from "@homeostat/testkit/Test"
import { Effect } from "effect"
import { demo, places } from "./Demonstrated.ts"

/** The programs that restic's build script needs. */
const programs = ["bash", "sh", "env", "dirname", "mkdir", "sed", "rm", "sleep"]

describe("The demo", () => {
  live(
    "builds restic with Go for --backup, and reports after the story why Go failed",
    () =>
      Effect.gen(function* () {
        const home = yield* Directory.make
        const bin = join(home, "bin")
        yield* Effect.promise(async () => {
          await mkdir(bin)
          for (const program of programs) await symlink(Bun.which(program) ?? "", join(bin, program))
          await writeFile(join(bin, "go"), '#!/bin/sh\necho "go: cannot $*" >&2\nexit 1\n', { mode: 0o755 })
        })
        const { exitCode, stderr, stdout } = yield* demo(["--backup"], {
          PATH: bin,
          HOME: home,
          TMPDIR: process.env.TMPDIR
        })
        expect(exitCode).toBe(1)
        expect(stderr).toMatch(
          /^demo: Go could not build restic \(go: cannot build .* github\.com\/restic\/restic\/cmd\/restic\): install .*\n$/
        )
        const order = places(stdout, [
          /^cluster builds restic from its Go module meanwhile, once, into .*: about 90 s$/,
          /^you apply -f deploy\/samples\/webapp\.yaml$/,
          /^manager everything runs again after \d+ ms$/,
          /^WebApp default\/demo-app /,
          /^A backup, a lost file, and its return$/
        ])
        expect(order).not.toContain(-1)
        expect(order).toEqual([...order].sort((one, other) => one - other))
      }),
    120_000
  )
})
