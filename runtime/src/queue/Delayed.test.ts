import { expect, test } from "bun:test"
import * as Seed from "@homeostat/testkit/Seed.fixture"
import * as FastCheck from "fast-check"
import * as Delayed from "./Delayed.ts"
import { Entry } from "./Entry.ts"

test("entries are ordered by time and then by insertion, with any changes and removals in between", () => {
  const operation = FastCheck.record({
    due: FastCheck.nat(20),
    advanceTo: FastCheck.option(FastCheck.nat(20)),
    remove: FastCheck.boolean()
  })
  FastCheck.assert(
    FastCheck.property(FastCheck.array(operation, { maxLength: 60, size: "max" }), (operations) => {
      const delayed = Delayed.make<never>()
      const entries = operations.map(({ due }, index) => {
        const entry = new Entry<never>(`${index}`)
        entry.dueAt = due
        delayed.add(entry)
        return entry
      })
      operations.forEach(({ advanceTo, remove }, index) => {
        const entry = entries[index]
        if (entry === undefined) return
        if (advanceTo !== null && advanceTo < entry.dueAt) delayed.advance(entry, advanceTo)
        if (remove) delayed.remove(entry)
      })
      const expected = entries
        .filter((_, index) => operations[index]?.remove === false)
        .sort((left, right) => left.dueAt - right.dueAt || Number(left.key) - Number(right.key))
      expect(delayed.size()).toBe(expected.length)
      const served: Array<Entry<never>> = []
      for (let first = delayed.first(); first !== undefined; first = delayed.first()) {
        delayed.remove(first)
        served.push(first)
      }
      expect(served.map((entry) => entry.key)).toEqual(expected.map((entry) => entry.key))
    }),
    { numRuns: 1000, seed: Seed.current() }
  )
})

test("drain visits each entry once and removes it", () => {
  const delayed = Delayed.make<never>()
  for (const key of ["a", "b"]) delayed.add(new Entry<never>(key))
  const visited: Array<string> = []
  delayed.drain(({ key }) => visited.push(key))
  expect(visited.sort()).toEqual(["a", "b"])
  expect(delayed.size()).toBe(0)
  expect(delayed.first()).toBeUndefined()
})
