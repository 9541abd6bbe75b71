import { expect, test } from "bun:test"
import * as Fold from "@homeostat/testkit/explore/Fold"

const line = (at: number, same: string, text = same): Fold.Line => ({ at, same, text })

test("lines have their times since the moment", () => {
  expect(Fold.of([line(1_000, "a"), line(62_500, "b")], 1_000)).toEqual(["00:00.000 a", "01:01.500 b"])
})

test("a line that repeats three times or more is folded; the text is that of the first", () => {
  const lines = [
    line(0, "a"),
    line(0, "a"),
    line(1, "b", "b 1"),
    line(2, "b", "b 2"),
    line(3, "b", "b 3"),
    line(4, "c")
  ]
  expect(Fold.of(lines, 0)).toEqual([
    "00:00.000 a",
    "00:00.000 a",
    "00:00.001 b 1",
    "… 3 times until 00:00.003",
    "00:00.004 c"
  ])
})

test("a block that repeats is folded, and the rest of the block follows", () => {
  const lines = Array.from({ length: 25 }, (_, index) => line(index, index % 2 === 0 ? "request" : "attempt"))
  expect(Fold.of(lines, 0)).toEqual([
    "00:00.000 request",
    "00:00.001 attempt",
    "… these 2 lines 12 times until 00:00.023",
    "00:00.024 request"
  ])
})
