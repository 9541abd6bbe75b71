/** The test of the schedules with two faults. */
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

/** Declares the test with this number of schedules. */
export const test = (count: number): void =>
  live(
    `each second fault of ${count} schedules is at a point that the run reaches`,
    () =>
      Effect.gen(function* () {
        const { schedules, unreached, violations } = yield* Explore.run(story, { depth: 2, pairs: count })
        expect(schedules).toBe(count)
        expect(unreached).toEqual([])
        expect(violations).toEqual([])
      }),
    60_000
  )
