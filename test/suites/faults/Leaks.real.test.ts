/** What a manager still holds when everything that happened is over. */
import { describe, expect } from "bun:test"
import * as Shared from "@homeostat/testkit/envtest/Shared"
import { Effect } from "effect"
import * as Soak from "./Soak.ts"
import { plane } from "./Wired.ts"

describe("A minute of churn and faults", () => {
  Shared.real(
    "leaves nothing behind: no memory, no fiber, no timer, no connection, no name",
    (cluster) =>
      Effect.gen(function* () {
        const result = yield* Soak.run(cluster, { duration: "40 seconds", apps: 60, seed: "leaks" })
        expect(Object.values(result.actions).reduce((sum, count) => sum + count)).toBeGreaterThan(100)
        expect(Soak.leaks(result)).toEqual([])
      }),
    { ...plane, timeoutMillis: 300_000 }
  )
})
