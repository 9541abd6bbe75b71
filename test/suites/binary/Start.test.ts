/** What it takes to start the program: so little that nobody waits for it. */
import { describe, expect } from "bun:test"
import * as Directory from "@homeostat/testkit/envtest/Directory"
import { live } from "@homeostat/testkit/Test"
import { Effect } from "effect"
import * as Binary from "./Binary.ts"

/** In milliseconds. */
const limit = 60

/** Of a machine with other things to do, some moment is quiet. */
const tries = 100

describe("The program", () => {
  live(
    `starts, says its version and ends in less than ${limit} ms`,
    () =>
      Effect.gen(function* () {
        const executable = yield* Binary.path
        const environment = Binary.bare(yield* Directory.make)
        // Its work, of all of its threads: the time is less where it has a processor for each of two, and is not its own doing
        // where it has to wait for one.
        const once = Effect.sync(() => {
          const { exitCode, resourceUsage } = Bun.spawnSync([executable, "version"], { env: environment })
          expect(exitCode).toBe(0)
          return Number(resourceUsage.cpuTime.total) / 1000
        })
        let best = yield* once
        for (let run = 1; run < tries && best >= limit; run++) best = Math.min(best, yield* once)
        process.stdout.write(`  version: ${best.toFixed(1)} ms of work\n`)
        expect(best).toBeLessThan(limit)
      }),
    120_000
  )
})
