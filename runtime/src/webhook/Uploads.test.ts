import { expect, test } from "bun:test"
import { Effect } from "effect"
import * as Uploads from "./Uploads.ts"

const make = () => {
  let now = 0
  const clock = { ...Effect.runSync(Effect.clock), unsafeCurrentTimeMillis: () => now }
  const aborted: Array<string> = []
  return {
    uploads: Uploads.make(clock),
    aborted,
    pass: (millis: number) => {
      now += millis
    }
  }
}

const large = Uploads.smallBytes + Uploads.mostLargeBytes / 4

test("Small bodies do not need the memory of large ones", () => {
  const { aborted, pass, uploads } = make()
  const holders = Array.from({ length: 4 }, (_, n) => uploads.add(() => aborted.push(`holder ${n}`)))
  for (const holder of holders) expect(holder !== undefined && uploads.grow(holder, large)).toBe(true)
  const other = uploads.add(() => aborted.push("other"))
  if (other === undefined) throw new Error("no place")
  expect(uploads.grow(other, Uploads.smallBytes)).toBe(true)
  expect(uploads.grow(other, Uploads.smallBytes + 1)).toBe(false)
  // A client that sends slowly loses its memory to another one.
  pass(1001)
  const fast = uploads.add(() => aborted.push("fast"))
  expect(fast !== undefined && uploads.grow(fast, large)).toBe(true)
  expect(aborted).toEqual(["holder 0"])
})

test("A complete body keeps its place", () => {
  const { aborted, pass, uploads } = make()
  const holder = uploads.add(() => aborted.push("holder"))
  if (holder === undefined) throw new Error("no place")
  expect(uploads.grow(holder, Uploads.smallBytes + Uploads.mostLargeBytes)).toBe(true)
  holder.isComplete = true
  pass(5000)
  const other = uploads.add(() => aborted.push("other"))
  expect(other !== undefined && uploads.grow(other, Uploads.smallBytes + 1)).toBe(false)
  uploads.remove(holder)
  expect(other !== undefined && uploads.grow(other, Uploads.smallBytes + 1)).toBe(true)
  expect(aborted).toEqual([])
})

test("A slow request loses its place when there are too many", () => {
  const { aborted, pass, uploads } = make()
  for (let n = 0; n < Uploads.mostRequests; n++) uploads.add(() => aborted.push(`request ${n}`))
  expect(uploads.add(() => {})).toBeUndefined()
  pass(1001)
  expect(uploads.add(() => {})).toBeDefined()
  expect(aborted).toEqual(["request 0"])
  expect(uploads.size()).toBe(Uploads.mostRequests)
})
