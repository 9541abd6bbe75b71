/** Attacks by a pod that reaches the ports of the manager and has no permissions, and their effect on the manager. */
import { describe, expect } from "bun:test"
import { Effect } from "effect"
import { from } from "./Neighbour.ts"
import * as Victim from "./Victim.ts"

describe("A manager whose neighbour", () => {
  Victim.attacked("holds connections open continues to serve", (victim) =>
    Effect.gen(function* () {
      expect(yield* victim.survives(from(victim, "idle connections", 1000))).toEqual({ open: 200, closed: 800 })
    })
  )

  for (const [name, attack, count, refusal] of [
    ["sends bodies slowly", "slow bodies", 500, "413"],
    ["sends huge headers", "huge headers", 50, "431"],
    ["sends huge paths", "huge paths", 50, "431"],
    ["sends huge bodies", "huge bodies", 50, "413"]
  ] as const)
    Victim.attacked(`${name} continues to serve`, (victim) =>
      Effect.gen(function* () {
        // A client that still sends may lose the response: the kernel resets a closed connection with unread bytes.
        const { closed = 0, [refusal]: refused = 0, ...others } = yield* victim.survives(from(victim, attack, count))
        expect({ others, all: refused + closed }).toEqual({ others: {}, all: count })
        expect(refused).toBeGreaterThan(0)
      })
    )

  Victim.attacked("sends many requests at once on each connection answers them", (victim) =>
    Effect.gen(function* () {
      expect(Object.keys(yield* victim.survives(from(victim, "pipelining", 20)))).not.toContain("open")
    })
  )

  Victim.attacked("sends headers slowly closes the connections even if they send bytes", (victim) =>
    Effect.gen(function* () {
      expect(yield* victim.survives(from(victim, "slow headers", 200))).toEqual({ closed: 200 })
    })
  )
})
