/**
 * Compares the embedded server with a real kube-apiserver on random sequences of writes, seeded by the state of the sources. To repeat
 * a sequence that failed, set `HOMEOSTAT_AGREEMENT_SEED` to its seed. `bun test/agreement.ts` tries thousands of sequences.
 */
import { describe, expect } from "bun:test"
import * as Seed from "@homeostat/testkit/Seed.fixture"
import { real } from "@homeostat/testkit/Shared"
import { Config, Effect } from "effect"
import * as Agreement from "./Agreement.ts"

/** 50 sequences take about ten seconds on two cores. */
const sequences = 50

describe("The embedded server and kube-apiserver", () => {
  real("agree about random sequences", (cluster) =>
    Effect.gen(function* () {
      const pair = yield* Agreement.pair(cluster)
      const given = yield* Config.option(Config.Int("HOMEOSTAT_AGREEMENT_SEED"))
      const found =
        given._tag === "Some"
          ? yield* Agreement.campaign(pair, given.value, 1)
          : yield* Agreement.campaign(pair, Seed.current(), sequences)
      expect(found.map(Agreement.explain).join("\n\n")).toBe("")
    })
  )
})
