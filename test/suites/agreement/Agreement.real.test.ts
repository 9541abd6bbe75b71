/**
 * The embedded server beside a real kube-apiserver: the same writes, the same answers, the same objects.
 *
 * Each state of the code has sequences of its own: new ones come with every commit, and what was green stays green. What failed is
 * repeated with `HOMEOSTAT_AGREEMENT_SEED=<seed of the sequence>`; thousands of sequences are tried by `bun test/agreement.ts`.
 */
import { describe, expect } from "bun:test"
import * as Process from "@homeostat/testkit/envtest/Process"
import { real } from "@homeostat/testkit/Shared"
import { Config, Effect } from "effect"
import * as Agreement from "./Agreement.ts"

/** As many as take a quarter of a minute on two cores. */
const sequences = 100

/** From the tree of the commit, and so the same wherever it is checked out. */
const seedOfCommit = Effect.map(
  Process.run("git", ["rev-parse", "HEAD^{tree}"]),
  ({ stdout }) => Number.parseInt(stdout.slice(0, 7), 16) || 1
)

describe("The embedded server and kube-apiserver", () => {
  real("agree about sequences at random", (cluster) =>
    Effect.gen(function* () {
      const pair = yield* Agreement.pair(cluster)
      const given = yield* Config.option(Config.integer("HOMEOSTAT_AGREEMENT_SEED"))
      const from = given._tag === "Some" ? given.value : yield* seedOfCommit
      const count = given._tag === "Some" ? 1 : sequences
      process.stdout.write(`${count} sequences from HOMEOSTAT_AGREEMENT_SEED=${from}\n`)
      const found = yield* Agreement.campaign(pair, from, count)
      expect(found.map(Agreement.explain).join("\n\n")).toBe("")
    })
  )
})
