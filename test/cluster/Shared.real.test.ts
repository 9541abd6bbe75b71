import { describe, expect } from "bun:test"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import * as Broker from "./Broker.ts"
import * as Directory from "./envtest/Directory.ts"
import { isAlive } from "./envtest/fixtures/pids.ts"
import * as Process from "./envtest/Process.ts"
import * as Shared from "./Shared.ts"
import { live } from "./Test.ts"

describe("Shared", () => {
  live(
    "tests with the same options share one control plane, also concurrently",
    () =>
      Effect.gen(function* () {
        const [first, second] = yield* Effect.all([Shared.controlPlane(), Shared.controlPlane({ audit: false })], {
          concurrency: "unbounded"
        })
        expect(second).toBe(first)
        expect(yield* Shared.controlPlane()).toBe(first)
      }),
    120_000
  )

  live(
    "a control plane that does not start is not retried",
    () =>
      Effect.gen(function* () {
        const broken = { apiServerFlags: ["--no-such-flag"] }
        const first = yield* Effect.flip(Shared.controlPlane(broken))
        const second = yield* Effect.flip(Shared.controlPlane(broken))
        expect(second).toBe(first)
      }),
    120_000
  )

  live(
    "a failed test shows the output of the control plane; with the preloaded hook, nothing is left after the run",
    () =>
      Effect.gen(function* () {
        const file = join(yield* Directory.make, "holds.json")
        const fixture = join(import.meta.dirname, "envtest", "fixtures", "failing.fixture.ts")
        const preload = join(import.meta.dirname, "envtest", "preload.ts")
        const result = yield* Process.run(process.execPath, ["test", "--preload", preload, fixture], {
          env: { ...process.env, HOLDS: file, [Broker.variable]: undefined }
        })
        const { directory, pids } = JSON.parse(readFileSync(file, "utf8"))
        expect([...pids.map(isAlive), existsSync(directory)]).toEqual([false, false, false])
        expect(result.exitCode).toBe(1)
        expect(result.stderr).toContain("the failure itself")
        expect(result.stderr).toContain("--- kube-apiserver wrote during the test that failed\n")
      }),
    120_000
  )
})
