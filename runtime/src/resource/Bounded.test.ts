import { expect, test } from "bun:test"
import * as Bounded from "./Bounded.ts"

test("a bounded map keeps what was put into it last", () => {
  const map = new Map<string, number>()
  for (const [index, key] of ["a", "b", "c", "a", "d"].entries()) Bounded.put(map, key, index, 3)
  expect([...map]).toEqual([
    ["c", 2],
    ["a", 3],
    ["d", 4]
  ])
})
