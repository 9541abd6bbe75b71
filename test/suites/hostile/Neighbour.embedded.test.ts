/** Attacks by a pod that reaches the ports of the manager and has no permissions, and their effect on the manager. */
import { describe, expect } from "bun:test"
import { join } from "node:path"
import { Effect, Fiber, Option } from "effect"
import * as Binary from "../binary/Binary.ts"
import * as Running from "../binary/Running.ts"
import * as Keeper from "../callers/Keeper.ts"
import * as Victim from "./Victim.ts"

const script = join(import.meta.dir, "fixtures", "neighbour.ts")

/** Runs an attack in another process with `count` concurrent connections, and returns the count of each response. */
const from = ({ program }: Victim.Victim, attack: string, count: number, what: "metrics" | "probes" = "probes") =>
  Effect.gen(function* () {
    const address = yield* Keeper.address(program, what)
    const command = [process.execPath, script, attack, address, String(count)]
    const attacker = yield* Running.start(command, Binary.bare(import.meta.dir))
    const { code, stderr, stdout } = yield* attacker.ended("40 seconds")
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    const answers: { readonly [answer: string]: number } = JSON.parse(stdout)
    return answers
  })

/** The slowest probe during an attack, in milliseconds, and the responses to the attack. */
const probed = (victim: Victim.Victim, attack: string, count: number, what: "metrics" | "probes" = "probes") =>
  Effect.gen(function* () {
    const flood = yield* Effect.fork(from(victim, attack, count, what))
    let slowest = 0
    while (Option.isNone(yield* Fiber.poll(flood))) {
      const { millis, status } = yield* Victim.probe(victim.program)
      expect(status).toBe(200)
      slowest = Math.max(slowest, millis)
      yield* Effect.sleep("20 millis")
    }
    return { slowest, answers: yield* flood }
  })

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
          expect(Object.keys(answers).filter((answer) => !["401", "429", "503"].includes(answer))).toEqual([])
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
        expect(Object.keys(answers).filter((answer) => !["200", "503"].includes(answer))).toEqual([])
        expect(answers["200"]).toBeGreaterThan(0)
        return slowest / Math.max(Victim.mostProbe, 3 * harmless.slowest)
      })
      expect(yield* Victim.fastest(excess, 1)).toBeLessThan(1)
    })
  )

  Victim.attacked("holds connections open continues to serve", (victim) =>
    Effect.gen(function* () {
      expect(yield* victim.survives(from(victim, "idle connections", 1000))).toEqual({ open: 1000 })
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

  Victim.attacked(
    "starts many handshakes at the secure port continues to serve",
    (victim) =>
      Effect.gen(function* () {
        expect(yield* victim.survives(from(victim, "handshakes", 500, "metrics"))).toEqual({ "401": 500 })
        expect(yield* victim.survives(from(victim, "broken handshakes", 500, "metrics"))).toEqual({ open: 500 })
      }),
    ["--metrics-secure"]
  )
})
