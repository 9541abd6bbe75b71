/** Which connection closes when a client opens one too many. */
import { describe, expect, test } from "bun:test"
import { Duplex } from "node:stream"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as OpenConnections from "./OpenConnections.ts"

/** Connections by name, each a ms after the one before. */
const make = () => {
  let now = 0
  const clock = { ...Effect.runSync(Clock.Clock), currentTimeMillisUnsafe: () => now }
  const connections = OpenConnections.make(clock, OpenConnections.webhook)
  const sockets = new Map<string, Duplex>()
  const enter = (name: string, phase: OpenConnections.Phase): void => {
    now++
    const socket = sockets.get(name)
    if (socket !== undefined) connections.enter(socket, phase)
  }
  return {
    enter,
    open: (name: string, address: string, phase: OpenConnections.Phase = "new") => {
      now++
      const socket = new Duplex({ read: () => {}, write: () => {} })
      sockets.set(name, socket)
      connections.add(socket, address)
      if (phase !== "new") enter(name, phase)
    },
    /** The closed connections since the last call. */
    closed: async () => {
      await Bun.sleep(0)
      const names = [...sockets].filter(([, { destroyed }]) => destroyed).map(([name]) => name)
      for (const name of names) sockets.delete(name)
      return names
    }
  }
}

const perAddress = OpenConnections.webhook.mostOfAddress
const addresses = OpenConnections.webhook.most / perAddress

describe("a connection beyond those of its address closes", () => {
  type Phases = Readonly<Record<string, OpenConnections.Phase>>
  const cases: ReadonlyArray<readonly [string, OpenConnections.Phase, Phases, string]> = [
    ["the one that is idle for the longest time", "working", { c7: "idle", c3: "idle" }, "c7"],
    ["one without a request", "working", { c9: "new" }, "c9"],
    ["an idle one before one with half a body", "receiving", { c5: "idle" }, "c5"],
    ["the one that has waited for its body for the longest time", "receiving", {}, "c0"],
    ["one with half a body before those with an answer", "working", { c4: "receiving" }, "c4"],
    ["itself if all others are answered", "working", {}, "extra"]
  ]
  for (const [name, phase, phases, expected] of cases) {
    test(name, async () => {
      const { closed, enter, open } = make()
      open("other", "10.0.0.2", "idle")
      for (let at = 0; at < perAddress; at++) open(`c${at}`, "10.0.0.1", phase)
      for (const [each, other] of Object.entries(phases)) enter(each, other)
      expect(await closed()).toEqual([])
      open("extra", "10.0.0.1")
      expect(await closed()).toEqual([expected])
    })
  }
})

describe("a new connection of another address, while all places are taken, closes", () => {
  const cases: ReadonlyArray<readonly [string, OpenConnections.Phase, OpenConnections.Phase, string]> = [
    ["the oldest one of the address with the most", "new", "idle", "0/0"],
    ["one with half a body", "receiving", "idle", "0/0"],
    ["one that is answered", "working", "idle", "0/0"],
    ["one of the address with the most, also while others are idle", "receiving", "working", "0/0"]
  ]
  for (const [name, phase, last, expected] of cases) {
    test(name, async () => {
      const { closed, open } = make()
      // The last address has one connection less, and the API server has it.
      open("server", "10.0.1.1", last)
      for (let address = 0; address < addresses; address++) {
        const most = address === addresses - 1 ? perAddress - 1 : perAddress
        for (let at = 0; at < most; at++) open(`${address}/${at}`, `10.0.0.${address}`, phase)
      }
      expect(await closed()).toEqual([])
      open("new", "10.0.1.1")
      expect(await closed()).toEqual([expected])
      open("another", "10.0.1.2")
      expect(await closed()).toEqual(["1/0"])
    })
  }
})

test("a closed connection gives its place back", async () => {
  const { closed, open } = make()
  for (let at = 0; at < perAddress; at++) open(`c${at}`, "10.0.0.1", "idle")
  for (let at = 0; at < 3; at++) {
    open(`d${at}`, "10.0.0.1", "working")
    expect(await closed()).toEqual([`c${at}`])
  }
})
