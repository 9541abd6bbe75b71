/** Explore.states finds a controller whose end state depends on earlier specs, and reports simple sequences. */
import { expect } from "bun:test"
import * as Explore from "@homeostat/testkit/Explore"
import * as Message from "@homeostat/testkit/explore/Message"
import { live } from "@homeostat/testkit/Test"
import { Effect } from "effect"
import { Volume } from "./Mutant.ts"
import { others } from "./Others.ts"

const kept = others.find(({ name }) => name.startsWith("keeps a field in the child"))
if (kept === undefined) throw new Error("mutant not found")

const cluster = { kubelet: false, controllers: ["garbage-collector-controller"] } as const
const limitMillis = 120_000

live(
  "Explore.states shows the simplest specs, and the requests of the object",
  () =>
    Effect.gen(function* () {
      const report = yield* Explore.runStates(Volume, { controllers: kept.mutant(), cluster, runs: 1 })
      const [first] = report.violations
      if (first === undefined) return yield* Effect.die(new Error("there is no violation"))
      expect(first.specs.map((spec) => JSON.stringify(spec)).sort()).toEqual(['{"size":0}', '{"size":1}'])
      expect(first.trace[0]).toContain("PATCH configmaps/default/explored-data → 201")
      expect(Message.ofStates(report)).toContain("Last attempts of Volume default/explored")
      expect(new Set(report.violations.map(({ message }) => message)).size).toBe(report.violations.length)
    }),
  limitMillis
)

live(
  "Explore.states finds nothing in the twin, and names the fields that varied",
  () =>
    Effect.gen(function* () {
      const { fields, sequences, violations } = yield* Explore.runStates(Volume, {
        controllers: kept.twin(),
        cluster,
        runs: 2
      })
      expect(violations).toEqual([])
      expect(sequences).toBe(4)
      expect([...fields].sort()).toEqual(["alias", "note", "size"])
    }),
  limitMillis
)
