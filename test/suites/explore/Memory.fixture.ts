/** Explores schedules with two faults in a process of its own, and prints its memory as JSON. */
import { heapStats } from "bun:jsc"
import * as Explore from "@homeostat/testkit/Explore"
import * as Trace from "@homeostat/testkit/explore/Trace"
import * as World from "@homeostat/testkit/explore/World"
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

/** Plays the first step. Returns the evidence, and a weak reference to the world. */
const witnessed = World.run(story, { seed: 1 }, (world) =>
  Effect.gen(function* () {
    yield* world.start
    yield* world.act(growth[0]?.act ?? Effect.void)
    yield* world.settle()
    return { witness: Trace.of(world, 0), world: new WeakRef(world.director) }
  })
)

/** Returns the number of worlds that their evidence keeps in memory, and the smallest number of lines in their traces. */
const worldsKept = Effect.gen(function* () {
  const all = yield* Effect.replicateEffect(witnessed, 10)
  yield* Effect.promise(() => Bun.sleep(10))
  Bun.gc(true)
  const worlds = all.filter(({ world }) => world.deref() !== undefined).length
  return { worlds, lines: Math.min(...all.map(({ witness }) => witness().trace.length)) }
})

const memory = Effect.gen(function* () {
  // The first worlds also compile the code.
  const before = yield* usedAfter(50, 1)
  const { heap, schedules } = yield* usedAfter(150, 2)
  return { schedules, kept: (heap - before.heap) / schedules, ...(yield* worldsKept) }
})

process.stdout.write(JSON.stringify(await Effect.runPromise(memory)))
