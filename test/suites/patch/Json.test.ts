/** Copies of JSON values, and values that share their equal parts. */
import { describe, expect, test } from "bun:test"
import type { Json } from "@homeostat/apiserver/model/Json"
import * as J from "@homeostat/apiserver/model/Json"
import * as Seed from "@homeostat/testkit/Seed.fixture"
import * as FastCheck from "fast-check"

const json: FastCheck.Arbitrary<Json> = FastCheck.jsonValue({ maxDepth: 4 }).map((value) =>
  JSON.parse(JSON.stringify(value))
)

const check = (...values: Parameters<typeof FastCheck.property<[Json, Json]>>) =>
  FastCheck.assert(FastCheck.property(...values), { seed: Seed.current(), numRuns: 2000 })

describe("Shared parts of two versions", () => {
  test("have the value of the second version", () => {
    check(json, json, (before, after) => {
      expect(J.share(before, after)).toEqual(after)
    })
  })

  test("equal versions are the first one itself", () => {
    check(json, json, (before) => {
      const shared = J.share(before, J.copy(before))
      if (typeof before === "object" && before !== null) expect(shared).toBe(before)
      else expect(shared).toEqual(before)
    })
  })

  test("an unchanged member keeps its identity beside a changed, a new and a removed one", () => {
    const before = { spec: { list: [{ a: 1 }, { b: 2 }] }, status: { phase: "old" }, gone: {} }
    const shared = J.share(before, { spec: { list: [{ a: 1 }, { b: 3 }] }, status: { phase: "old" }, more: {} })
    expect(shared.status).toBe(before.status)
    expect(J.list(J.at(shared, "spec", "list"))[0]).toBe(before.spec.list[0])
    expect(shared).toEqual({ spec: { list: [{ a: 1 }, { b: 3 }] }, status: { phase: "old" }, more: {} })
  })

  test("a shorter list, an absent member and a member named __proto__ are differences", () => {
    expect(J.share([1, 2], [1])).toEqual([1])
    expect(J.share({ a: 1, b: 2 }, { a: 1 })).toEqual({ a: 1 })
    const odd: Json = JSON.parse('{"__proto__":{"a":1}}')
    expect(JSON.stringify(J.share({}, odd))).toBe('{"__proto__":{"a":1}}')
  })
})

describe("A sorted copy", () => {
  test("has the members of each object in order, also inside lists", () => {
    expect(JSON.stringify(J.sorted({ b: [{ d: 1, c: 2 }], a: null }))).toBe('{"a":null,"b":[{"c":2,"d":1}]}')
  })

  test("has the same value and is separate", () => {
    check(json, json, (value) => {
      const made = J.sorted(value)
      expect(made).toEqual(J.copy(value))
      if (typeof value === "object" && value !== null) expect(made === value).toBe(false)
    })
  })
})
