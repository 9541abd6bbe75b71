import { describe, expect, test } from "bun:test"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Pace from "./Pace.ts"

/** An event loop with virtual time, and the reviews that it has started. */
const make = () => {
  let now = 0
  let due: Array<() => void> = []
  const timers: Array<{ readonly at: number; readonly run: () => void }> = []
  const clock = {
    ...Effect.runSync(Clock.Clock),
    currentTimeMillisUnsafe: () => now,
    currentTimeNanosUnsafe: () => BigInt(now) * 1_000_000n,
    monotonicTimeNanosUnsafe: () => BigInt(now) * 1_000_000n
  }
  const pace = Pace.make(clock, {
    immediate: (run) => void due.push(run),
    later: (millis, run) => void timers.push({ at: now + millis, run })
  })
  const started: Array<string> = []
  const settle = () => Bun.sleep(0)
  return {
    pace,
    started: () => started.splice(0),
    /** Adds a review whose answer takes this long. */
    add: (name: string, bytes: number, millis = 0, address = "10.0.0.1") =>
      Effect.runFork(
        Effect.map(pace.turn(bytes, address), () => {
          started.push(name)
          now += millis
        })
      ),
    /** The next turn of the event loop, some ms later. */
    turn: async (millis = 0) => {
      await settle()
      now += millis
      for (const timer of timers.splice(0)) {
        if (timer.at <= now) timer.run()
        else timers.push(timer)
      }
      for (let at = 0; at < 2; at++) {
        const runs = due
        due = []
        for (const run of runs) run()
      }
      await settle()
    }
  }
}

const half = Pace.mostBytes / 2

describe("in one turn of the event loop,", () => {
  const cases: ReadonlyArray<readonly [string, ReadonlyArray<number>, number]> = [
    ["many small reviews are answered", Array.from({ length: 20 }, () => 3000), 20],
    ["only some thousands of tiny ones", Array.from({ length: 300 }, () => 577), Math.floor(Pace.mostBytes / 577)],
    ["two halves", [half, half, half], 2],
    ["one large review", [7 * 2 ** 20, 577], 1],
    ["a large one after others not", [577, 7 * 2 ** 20], 1],
    ["one that would be too much holds those behind it", [half, half + 1, 577], 1]
  ]
  for (const [name, sizes, most] of cases) {
    test(name, async () => {
      const { add, pace, started, turn } = make()
      for (const [at, bytes] of sizes.entries()) add(`${at}`, bytes)
      expect(started()).toEqual(sizes.slice(0, most).map((_, at) => `${at}`))
      const rest = []
      for (let at = 0; pace.size() > 0 && at < 10; at++) {
        await turn()
        rest.push(...started())
      }
      expect(rest).toEqual(sizes.slice(most).map((_, at) => `${at + most}`))
    })
  }
})

describe("a turn of", () => {
  const cases: ReadonlyArray<readonly [number, number]> = [
    [1, 0],
    [Pace.longMillis, 0],
    [41, 41],
    [1000, Pace.mostRest]
  ]
  for (const [took, rests] of cases) {
    test(`${took} ms is followed by a rest of ${rests} ms`, async () => {
      const { add, started, turn } = make()
      add("slow", Pace.mostBytes, took)
      add("next", 577)
      await turn()
      if (rests > 0) {
        add("new", 577)
        await turn(rests - 1)
        expect(started()).toEqual(["slow"])
        await turn(1)
        expect(started()).toEqual(["next", "new"])
      } else expect(started()).toEqual(["slow", "next"])
    })
  }
})

test("a review whose client has gone holds no other review", async () => {
  const { add, pace, started, turn } = make()
  add("first", Pace.mostBytes)
  const gone = add("gone", Pace.mostBytes)
  add("next", Pace.mostBytes)
  await Effect.runPromise(Fiber.interrupt(gone))
  expect(pace.size()).toBe(1)
  await turn()
  expect(started()).toEqual(["first", "next"])
})

test("the reviews of one address do not delay those of another", async () => {
  const { add, started, turn } = make()
  for (const name of ["a1", "a2", "a3", "a4"]) add(name, Pace.mostBytes)
  for (const name of ["b1", "b2"]) add(name, Pace.mostBytes, 0, "10.0.0.2")
  for (let at = 0; at < 6; at++) await turn()
  expect(started()).toEqual(["a1", "a2", "b1", "a3", "b2", "a4"])
})
