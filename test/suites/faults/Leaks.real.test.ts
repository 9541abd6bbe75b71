/** A manager releases its memory, fibers, timers and connections after churn and faults. */
import { describe, expect } from "bun:test"
import { join } from "node:path"
import * as Process from "@homeostat/testkit/envtest/Process"
import * as Seed from "@homeostat/testkit/Seed.fixture"
import { live } from "@homeostat/testkit/Test"
import { Effect } from "effect"

const soak = join(import.meta.dir, "../../soak.ts")

describe("Twenty seconds of churn and faults", () => {
  // The soak runs in its own process, so that other tests do not change its memory and connections.
  live(
    "leave nothing behind: no memory, fibers, timers, connections or names",
    () =>
      Effect.gen(function* () {
        const { exitCode, stderr, stdout } = yield* Process.run(process.execPath, [
          soak,
          "0.3",
          `${Seed.current()}`,
          "30"
        ])
        expect(stderr).toBe("")
        expect(stdout).toContain("Nothing is left")
        expect(stdout).toMatch(/"create":[1-9]/)
        expect(exitCode).toBe(0)
      }).pipe(Effect.timeout("280 seconds")),
    300_000
  )
})
