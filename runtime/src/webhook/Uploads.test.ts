import { describe, expect, test } from "bun:test"
import { Clock, Effect } from "effect"
import * as Uploads from "./Uploads.ts"

/** Requests whose steps a diary records. */
const make = () => {
  let now = 0
  const clock = { ...Effect.runSync(Clock.Clock), currentTimeMillisUnsafe: () => now }
  const uploads = Uploads.make(clock)
  const diary: Array<string> = []
  return {
    uploads,
    /** The steps since the last call. */
    steps: () => diary.splice(0),
    add: (name: string, length = 0, arrived = 0) => {
      const upload = uploads.add(
        { length, arrived },
        5000,
        () => diary.push(`read ${name}`),
        () => diary.push(`abort ${name}`)
      )
      if (upload === undefined) throw new Error("too many wait")
      if (upload.isReading) diary.push(`read ${name}`)
      return upload
    },
    pass: (millis: number) => {
      now += millis
      uploads.retry()
    }
  }
}

const quarter = Uploads.smallBytes + Uploads.mostLargeBytes / 4

test("a large body waits for memory, and a small one does not", () => {
  const { add, pass, steps, uploads } = make()
  const holders = ["a", "b", "c", "d"].map((name) => add(name, quarter))
  for (const holder of holders) holder.isComplete = true
  expect(steps()).toEqual(["read a", "read b", "read c", "read d"])
  add("large", quarter)
  add("larger", 2 * quarter)
  add("small", Uploads.smallBytes)
  expect(steps()).toEqual(["read small"])
  expect([uploads.size(), uploads.isWaiting()]).toEqual([7, true])
  for (const holder of holders.slice(0, 1)) uploads.remove(holder)
  expect(steps()).toEqual(["read large"])
  for (const holder of holders.slice(1)) uploads.remove(holder)
  expect(steps()).toEqual(["read larger"])
  expect(uploads.isWaiting()).toBe(false)
  pass(0)
  expect(steps()).toEqual([])
})

test("a request is refused while those that wait hold too much of their bodies", () => {
  const { add } = make()
  add("holder", Uploads.smallBytes + Uploads.mostLargeBytes)
  const half = Uploads.mostWaitingBytes / 2 - Uploads.requestBytes
  add("one", Uploads.mostLargeBytes, half)
  add("two", Uploads.mostLargeBytes, half)
  expect(() => add("three", Uploads.smallBytes + 1, 1)).toThrow("too many wait")
  add("small", Uploads.smallBytes)
})

test("a request that waits for too long is rejected", () => {
  const { add, pass, steps, uploads } = make()
  add("holder", Uploads.smallBytes + Uploads.mostLargeBytes).isComplete = true
  add("late", quarter)
  pass(4999)
  expect(steps()).toEqual(["read holder"])
  pass(1)
  expect(steps()).toEqual(["abort late"])
  expect(uploads.isWaiting()).toBe(false)
})

test("a client that sends slowly loses its memory to one that waits", () => {
  const { add, pass, steps } = make()
  for (const name of ["a", "b", "c", "d"]) add(name, quarter)
  add("fast", quarter)
  pass(999)
  expect(steps()).toHaveLength(4)
  pass(1)
  expect(steps()).toEqual(["abort a", "read fast"])
})

test("a request beyond the most concurrent ones waits", () => {
  const { add, pass, steps, uploads } = make()
  const all = Array.from({ length: Uploads.mostRequests }, (_, n) => add(`${n}`))
  for (const each of all) each.isComplete = true
  expect(steps()).toHaveLength(Uploads.mostRequests)
  const gone = add("gone")
  add("last")
  pass(4000)
  uploads.remove(gone)
  for (const each of all.slice(0, 1)) uploads.remove(each)
  expect(steps()).toEqual(["read last"])
})

describe("while all places are taken,", () => {
  const cases: ReadonlyArray<readonly [string, number, number]> = [
    ["a request without a body", 0, Uploads.mostWaiting],
    ["a tiny one", 577, Uploads.mostWaiting],
    ["a small one", 2 ** 15, Uploads.mostWaiting],
    ["a large one", 2 ** 20, Math.floor(Uploads.mostWaitingBytes / (2 ** 20 + Uploads.requestBytes))],
    ["one whose body alone has the bytes of all", Uploads.mostWaitingBytes, 0]
  ]
  for (const [name, bytes, most] of cases) {
    test(`${name} waits up to a limit, which removals lift`, () => {
      const { uploads } = make()
      const add = (arrived: number) =>
        uploads.add(
          { length: 2 * arrived, arrived },
          5000,
          () => {},
          () => {}
        )
      for (let at = 0; at < Uploads.mostRequests; at++) expect(add(0)?.isReading).toBe(true)
      const waiting = Array.from({ length: most }, () => add(bytes))
      expect(waiting.every((each) => each?.isReading === false)).toBe(true)
      expect(add(bytes)).toBeUndefined()
      expect(uploads.size()).toBe(Uploads.mostRequests + most)
      for (const each of waiting) if (each !== undefined) uploads.remove(each)
      expect([uploads.size(), uploads.isWaiting()]).toEqual([Uploads.mostRequests, false])
      expect(add(bytes) === undefined).toBe(most === 0)
    })
  }
})
