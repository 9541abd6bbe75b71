/**
 * The embedded server beside a real kube-apiserver: the same writes, the same answers, the same objects.
 *
 * What failed is repeated with `HOMEOSTAT_AGREEMENT_SEED=<seed of the sequence>`; thousands of sequences are tried by
 * `bun test/agreement.ts`.
 */
import { describe, expect } from "bun:test"
import { real } from "@homeostat/testkit/Shared"
import { Config, Effect, Random } from "effect"
import * as Agreement from "./Agreement.ts"
import { regressions } from "./Regressions.ts"

/** As many as take half a minute on two cores. */
const sequences = 200

describe("The embedded server and kube-apiserver", () => {
  real("agree about the sequences on which they once did not", (cluster) =>
    Effect.gen(function* () {
      const pair = yield* Agreement.pair(cluster)
      const found = yield* Effect.forEach(
        regressions,
        (regression) =>
          Effect.map(Agreement.play(pair, regression), (difference) =>
            difference === undefined
              ? []
              : [Agreement.explain({ ...difference, seed: regression.seed, sequence: regression })]
          ),
        { concurrency: 4 }
      )
      expect(found.flat().join("\n\n")).toBe("")
    })
  )

  real("agree about sequences at random", (cluster) =>
    Effect.gen(function* () {
      const pair = yield* Agreement.pair(cluster)
      const given = yield* Config.option(Config.integer("HOMEOSTAT_AGREEMENT_SEED"))
      const from = given._tag === "Some" ? given.value : yield* Random.nextIntBetween(0, 1_000_000_000)
      const count = given._tag === "Some" ? 1 : sequences
      process.stdout.write(`${count} sequences from HOMEOSTAT_AGREEMENT_SEED=${from}\n`)
      const found = yield* Agreement.campaign(pair, from, count)
      expect(found.map(Agreement.explain).join("\n\n")).toBe("")
    })
  )
})
