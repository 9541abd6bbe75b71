/** Explores schedules with two faults in a process of its own, and prints its memory as JSON. */
import { heapStats } from "bun:jsc"
import * as Explore from "@homeostat/testkit/Explore"
import { Effect } from "effect"
import { growth, plain } from "./Mutant.ts"

const story = Explore.story({
  controllers: plain(),
  steps: growth,
  cluster: { kubelet: false, controllers: ["garbage-collector-controller"] }
})

/** Runs schedules. Returns their number, and the heap size in bytes afterwards. */
const usedAfter = (pairs: number, seed: number) =>
  Effect.map(Explore.run(story, { depth: 2, pairs, seed }), ({ schedules }) => {
    Bun.gc(true)
    return { schedules, heap: heapStats().heapSize }
  })

const memory = Effect.gen(function* () {
  // The first worlds also compile the code.
  const before = yield* usedAfter(50, 1)
  const { heap, schedules } = yield* usedAfter(150, 2)
  return { schedules, kept: (heap - before.heap) / schedules }
})

process.stdout.write(JSON.stringify(await Effect.runPromise(memory)))
