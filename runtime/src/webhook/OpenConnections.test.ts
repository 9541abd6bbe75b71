import { describe, expect, test } from "bun:test"
import { PassThrough } from "node:stream"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as OpenConnections from "./OpenConnections.ts"

/** A step: the address that connects, or the number of the connection that enters a phase. */
type Step = string | readonly [connection: number, phase: OpenConnections.Phase]

/** The connections that are open after the steps, by number, in a port that takes 6 connections, and 4 of an address. */
const after = async (steps: ReadonlyArray<Step>, atOnce = false) => {
  let now = 0
  const clock = { ...Effect.runSync(Clock.clockWith(Effect.succeed)), currentTimeMillisUnsafe: () => now }
  const connections = OpenConnections.make(clock, {
    most: 6,
    mostOfAddress: 4,
    patience: OpenConnections.webhook.patience
  })
  const sockets: Array<PassThrough> = []
  for (const step of steps) {
    now++
    if (typeof step === "string") {
      const socket = new PassThrough()
      sockets.push(socket)
      connections.add(socket, step)
    } else {
      const socket = sockets[step[0]]
      if (socket !== undefined) connections.enter(socket, step[1])
    }
    if (!atOnce) await new Promise(setImmediate)
  }
  return sockets.flatMap(({ destroyed }, at) => (destroyed ? [] : [at]))
}

describe("a port with places for 6 connections, and 4 of an address", () => {
  const table: ReadonlyArray<readonly [what: string, steps: ReadonlyArray<Step>, open: ReadonlyArray<number>]> = [
    ["takes 4 of an address", ["a", "a", "a", "a"], [0, 1, 2, 3]],
    ["closes the fifth of an address", ["a", "a", "a", "a", "a", "b"], [0, 1, 2, 3, 5]],
    [
      "closes the oldest of the largest address for another one",
      ["b", "a", "a", "a", "a", "b", "c"],
      [0, 2, 3, 4, 5, 6]
    ],
    ["closes none of an address with fewer", ["k", "a", "a", "a", "b", "b", "c"], [0, 2, 3, 4, 5, 6]],
    ["closes the one that is idle for longest", ["a", "a", "a", "b", "b", "b", [0, "idle"], "c"], [0, 2, 3, 4, 5, 6]],
    [
      "closes none that is busy",
      ["a", "a", "a", "b", "b", "b", [0, "working"], [1, "receiving"], "c"],
      [0, 1, 3, 4, 5, 6]
    ],
    [
      "closes one of the next address if the largest is busy",
      ["a", "a", "a", "b", "b", "c", [0, "working"], [1, "working"], [2, "working"], "d"],
      [0, 1, 2, 4, 5, 6]
    ],
    ["closes the oldest if each address has one", ["a", "b", "c", "d", "e", "f", "g"], [1, 2, 3, 4, 5, 6]],
    [
      "closes the new one if only addresses with fewer are idle",
      ["a", "a", "a", [0, "working"], [1, "working"], [2, "working"], "b", "c", "d", "a"],
      [0, 1, 2, 3, 4, 5]
    ],
    [
      "closes the new one if all others are busy",
      ["a", "a", "a", "b", "b", "b", ...[0, 1, 2, 3, 4, 5].map((at): Step => [at, "working"]), "c"],
      [0, 1, 2, 3, 4, 5]
    ]
  ]
  for (const [what, steps, open] of table) test(what, async () => expect(await after(steps)).toEqual([...open]))

  test("closes as many at once as come at once", async () => {
    expect(await after(["a", "a", "a", "b", "b", "b", "c", "d", "e"], true)).toEqual([2, 4, 5, 6, 7, 8])
  })
})
