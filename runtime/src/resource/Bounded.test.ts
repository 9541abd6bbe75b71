import { expect, test } from "bun:test"
import * as Bounded from "./Bounded.ts"

test("Bounded keeps the latest entries", () => {
  const map = new Map<string, number>()
  for (const [index, key] of ["a", "b", "c", "a", "d"].entries()) Bounded.put(map, key, index, 3)
  expect([...map]).toEqual([
    ["c", 2],
    ["a", 3],
    ["d", 4]
  ])
})

test("Bounded drops the oldest eighth of its entries when it is full", () => {
  const map = new Map<number, number>()
  const sizes: Array<number> = []
  for (let index = 0; index < 1000; index++) {
    Bounded.put(map, index, index, 80)
    sizes.push(map.size)
  }
  expect([Math.max(...sizes), Math.min(...sizes.slice(80))]).toEqual([80, 71])
  expect([...map.keys()]).toEqual(Array.from({ length: map.size }, (_, index) => 1000 - map.size + index))
})
