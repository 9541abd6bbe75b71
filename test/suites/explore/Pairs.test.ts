/** The schedules with two faults. */
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

live(
  "each second fault is at a point that the run reaches",
  () =>
    Effect.gen(function* () {
      const { schedules, unreached, violations } = yield* Explore.run(story, { depth: 2, pairs: 60 })
      expect(schedules).toBe(60)
      expect(unreached).toEqual([])
      expect(violations).toEqual([])
    }),
  60_000
)
