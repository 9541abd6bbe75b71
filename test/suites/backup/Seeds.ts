/** The tests of Backups over a connection with every kind of fault, by seed. */
import { expect } from "bun:test"
import * as Faults from "@homeostat/testkit/Faults"
import { Effect } from "effect"
import * as Virtual from "./Virtual.ts"

/** Declares the test for each of these seeds. */
export const test = (seeds: ReadonlyArray<number>): void => {
  for (const seed of seeds) {
    Virtual.test(
      `A Backup makes each run of its schedule once under lag and faults, with seed ${seed}`,
      (world) =>
        Effect.gen(function* () {
          yield* world.manage()
          const rules = Faults.chaos(world.faults, { chance: 0.1 })
          yield* Virtual.create("shop", { schedule: "*/10 * * * *" })
          yield* world.until("2026-11-20T00:15:00Z")
          yield* world.faults.breakWatches()
          yield* world.until("2026-11-20T00:38:00Z")
          yield* Virtual.until(
            "shop",
            "the last run is completed",
            ({ lastScheduleTime, phase }) => [phase, lastScheduleTime].join() === "Completed,2026-11-20T00:30:00Z"
          )
          const times = world.saving().map(({ pod }) => pod.metadata.creationTimestamp.slice(11, 15))
          expect(times).toEqual(["00:0", "00:1", "00:2", "00:3"])
          const hits = rules.map((rule) => rule.hits())
          expect(hits[0]).toBeGreaterThan(50)
          expect(hits.slice(1).filter((count) => count > 0).length).toBeGreaterThan(1)
        }),
      120_000,
      seed
    )
  }
}
