/** A pod that reaches the ports of the manager and has no permissions. */
import { expect } from "bun:test"
import { join } from "node:path"
import { Effect, Fiber } from "effect"
import * as Binary from "../binary/Binary.ts"
import * as Running from "../binary/Running.ts"
import * as Keeper from "../callers/Keeper.ts"
import * as Victim from "./Victim.ts"

const script = join(import.meta.dir, "fixtures", "neighbour.ts")

/** Runs an attack in another process with `count` concurrent connections, and returns the count of each response. */
export const from = (
  { program }: Victim.Victim,
  attack: string,
  count: number,
  what: "metrics" | "probes" = "probes"
) =>
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
export const probed = (victim: Victim.Victim, attack: string, count: number, what: "metrics" | "probes" = "probes") =>
  Effect.gen(function* () {
    const flood = yield* Effect.forkChild(from(victim, attack, count, what))
    let slowest = 0
    while (flood.pollUnsafe() === undefined) {
      const { millis, status } = yield* Victim.probe(victim.program)
      expect(status).toBe(200)
      slowest = Math.max(slowest, millis)
      yield* Effect.sleep("20 millis")
    }
    return { slowest, answers: yield* Fiber.join(flood) }
  })
