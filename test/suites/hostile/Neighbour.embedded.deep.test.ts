/** The attacks by a neighbour that take many seconds of CPU. */
import { describe, expect } from "bun:test"
import { Effect } from "effect"
import { from, probed } from "./Neighbour.ts"
import * as Victim from "./Victim.ts"

describe("A manager whose neighbour", () => {
  Victim.attacked("sends 2,000 unknown tokens at once rejects them and still answers probes", (victim) =>
    Effect.gen(function* () {
      for (const [attack, refusal] of [
        ["made-up tokens", "429"],
        ["one made-up token", "401"],
        ["opaque tokens", "401"]
      ] as const) {
        const excess = Effect.gen(function* () {
          // This attack measures the cost of as many requests without tokens, because the cost depends on the machine.
          const harmless = yield* probed(victim, "unknown paths", 2000)
          const { answers, slowest } = yield* victim.survives(probed(victim, attack, 2000))
          expect(Object.keys(answers).filter((answer) => !["401", "429", "503", "closed"].includes(answer))).toEqual([])
          expect(answers[refusal]).toBeGreaterThan(0)
          return slowest / Math.max(Victim.mostProbe, 3 * harmless.slowest)
        })
        expect(yield* Victim.fastest(excess, 1)).toBeLessThan(1)
      }
    })
  )

  Victim.attacked("requests many pages of metrics at once still answers probes", (victim) =>
    Effect.gen(function* () {
      const excess = Effect.gen(function* () {
        const harmless = yield* probed(victim, "unknown paths", 2000, "metrics")
        const { answers, slowest } = yield* victim.survives(probed(victim, "pages", 2000, "metrics"))
        expect(Object.keys(answers).filter((answer) => !["200", "503", "closed"].includes(answer))).toEqual([])
        expect(answers["200"]).toBeGreaterThan(0)
        return slowest / Math.max(Victim.mostProbe, 3 * harmless.slowest)
      })
      expect(yield* Victim.fastest(excess, 1)).toBeLessThan(1)
    })
  )

  Victim.attacked(
    "starts many handshakes at the secure port continues to serve",
    (victim) =>
      Effect.gen(function* () {
        const {
          "401": refused = 0,
          closed = 0,
          ...others
        } = yield* victim.survives(from(victim, "handshakes", 500, "metrics"))
        expect({ others, all: refused + closed }).toEqual({ others: {}, all: 500 })
        expect(refused).toBeGreaterThan(0)
        const broken = yield* victim.survives(from(victim, "broken handshakes", 500, "metrics"))
        expect(broken).toEqual({ open: 200, closed: 300 })
      }),
    ["--metrics-secure"]
  )
})
