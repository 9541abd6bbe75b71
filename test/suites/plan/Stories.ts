/** The test that a plan equals the writes of a real manager, at two moments of random stories, for each object and field. */
import { expect } from "bun:test"
import * as Manager from "@homeostat/runtime/manager/Manager"
import * as Plan from "@homeostat/runtime/plan/Plan"
import * as Simulation from "@homeostat/testkit/Simulation"
import { live } from "@homeostat/testkit/Test"
import { controller } from "@homeostat/webapp"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect, Layer } from "effect"
import * as Recorded from "./Recorded.ts"
import * as WebAppStory from "./WebAppStory.ts"

const planned = (moment: WebAppStory.Moment) =>
  WebAppStory.frozen(moment, (cluster, time) =>
    Effect.gen(function* () {
      const recorded = Recorded.over(cluster)
      const { revision } = cluster.server.store
      const simulation = yield* Simulation.make
      const plan = yield* time.during(
        Plan.make([controller], Layer.empty, { simulation, kinds: [WebApp] }).pipe(Effect.provide(recorded.transport))
      )
      expect(recorded.requests).toEqual([])
      expect(cluster.server.store.revision).toBe(revision)
      return plan
    })
  )

const written = (moment: WebAppStory.Moment) =>
  WebAppStory.frozen(moment, (cluster, time) =>
    Effect.gen(function* () {
      const recorded = Recorded.over(cluster)
      yield* Effect.forkScoped(Manager.launch([controller]).pipe(Effect.provide(recorded.transport)))
      yield* time.pass("1 minute")
      return recorded.writes
    })
  )

/** Returns the texts of each list that the other list does not have. */
const differences = (one: ReadonlyArray<string>, other: ReadonlyArray<string>) => {
  const left = [...other]
  const missing = one.filter((text) => {
    const at = left.indexOf(text)
    if (at >= 0) left.splice(at, 1)
    return at < 0
  })
  return { missing, surplus: left }
}

const print = (line: string): void => void process.stdout.write(`${line}\n`)

/** Declares the test for the first random stories. */
export const test = (stories: number): void =>
  live(
    `the plans at two moments of ${stories} random stories have at least 99 % of the writes of a real manager, and write nothing`,
    () =>
      Effect.gen(function* () {
        let total = 0
        let equal = 0
        let unknown = 0
        const kinds = new Map<string, number>()
        for (let seed = 1; seed <= stories; seed++) {
          for (const moment of yield* WebAppStory.run(seed)) {
            const plan = yield* planned(moment)
            const real = (yield* written(moment)).map(Recorded.plain)
            const { missing, surplus } = differences(plan.writes.map(Recorded.plain), real)
            total += Math.max(real.length, plan.writes.length)
            equal += real.length - surplus.length
            unknown += plan.unknown.length
            for (const { action, target } of plan.writes) {
              const kind = `${action} ${target.kind}`
              kinds.set(kind, (kinds.get(kind) ?? 0) + 1)
            }
            if (missing.length + surplus.length > 0 && plan.unknown.length === 0) {
              print(`seed ${seed}: ${moment.actions.join("; ")}`)
              for (const text of missing) print(`  only planned: ${text}`)
              for (const text of surplus) print(`  only written: ${text}`)
            }
          }
        }
        print(
          `  ${equal} of ${total} writes are planned, ${unknown} parts are unknown: ${[...kinds].map(([kind, count]) => `${kind} ${count}`).join(", ")}`
        )
        expect(total).toBeGreaterThan(5 * stories)
        expect(equal / total).toBeGreaterThanOrEqual(0.99)
        expect(unknown).toBeLessThan(total / 100)
      }),
    600_000
  )
