/** The memory usage of an exploration does not grow with the number of its worlds. */

import { heapStats } from "bun:jsc"
import { expect } from "bun:test"
import * as Explore from "@homeostat/testkit/Explore"
import { live } from "@homeostat/testkit/Test"
import { Effect } from "effect"
import { growth, plain } from "./Mutant.ts"

const story = Explore.story({
  controllers: plain(),
  steps: growth,
  cluster: { kubelet: false, controllers: ["garbage-collector-controller"] }
})

/** Runs schedules, and returns the heap size in bytes afterwards. */
const usedAfter = (pairs: number, seed: number) =>
  Effect.map(Explore.run(story, { depth: 2, pairs, seed }), ({ schedules }) => {
    Bun.gc(true)
    return { schedules, bytes: heapStats().heapSize }
  })

live(
  "an exploration keeps at most 50 kB of each world",
  () =>
    Effect.gen(function* () {
      // The first worlds also compile the code.
      const before = yield* usedAfter(50, 1)
      const after = yield* usedAfter(150, 2)
      expect(after.schedules).toBe(150)
      expect((after.bytes - before.bytes) / after.schedules).toBeLessThan(50_000)
    }),
  120_000
)
