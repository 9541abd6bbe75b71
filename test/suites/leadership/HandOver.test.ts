import { describe, expect } from "bun:test"
import { Effect } from "effect"
import * as HandingOver from "./HandingOver.ts"
import * as History from "./History.ts"
import * as Replica from "./Replica.ts"

describe("Over a hundred hand-overs,", () => {
  Replica.virtual(
    "at most one manager holds the Lease, only the holder writes, and a released Lease is acquired at once",
    (network, namespace) =>
      Effect.gen(function* () {
        const { believers, history, orderly } = yield* HandingOver.run(network, namespace, 100)
        expect(History.handOvers(history)).toBeGreaterThanOrEqual(100)
        expect(History.overlaps(history)).toEqual([])
        expect(History.trespasses(history)).toEqual([])
        expect(history.writes.length).toBeGreaterThan(100)
        expect(believers).toEqual([])
        // A standby asks for the Lease every 200 ms, so it takes over long before the Lease would expire after two seconds.
        expect(orderly.length).toBe(51)
        expect(Math.max(...orderly)).toBeLessThanOrEqual(200)
      })
  )
})
