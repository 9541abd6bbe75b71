import { expect, test } from "bun:test"
import * as CpuUse from "./CpuUse.ts"

const { shareMillis: share, windowMillis: window } = CpuUse

for (const [what, spends, at, used, isQuiet] of [
  ["nothing without an attempt", [], 0, 0, true],
  ["the time of an attempt at once", [[5, 300]], 5, 300, true],
  [
    "the sum of two attempts",
    [
      [5, 300],
      [6, 300]
    ],
    6,
    600,
    false
  ],
  ["the sum of many short attempts", Array.from({ length: 5000 }, (_, n) => [n, 0.2]), 5000, 1000, false],
  ["exactly the share, which is within it", [[5, share]], 5, share, true],
  ["half of it in the middle of the next window", [[5, 800]], 1.5 * window, 400, false],
  ["nothing after two windows", [[5, 800]], 2 * window, 0, true],
  ["nothing after a day", [[5, 9000]], 86_400_000, 0, true],
  [
    "what the two windows before now say",
    [
      [5, 600],
      [6 + window, 100]
    ],
    1.25 * window,
    550,
    false
  ]
] as const) {
  test(`The CPU use of a namespace is ${what}`, () => {
    const use = CpuUse.make()
    for (const [when, millis] of spends as ReadonlyArray<readonly [number, number]>) use.spend("a", millis, when)
    expect(use.of("a", at)).toBeCloseTo(used, 6)
    expect(use.of("b", at)).toBe(0)
    expect(use.isQuiet()).toBe(isQuiet)
  })
}

test("The CPU use of 100,000 namespaces keeps the one that is busy, and forgets others", () => {
  const use = CpuUse.make()
  for (let n = 0; n < 100_000; n++) {
    use.spend(`n${n}`, 0.01, n / 100)
    use.spend("busy", 0.01, n / 100)
  }
  expect(use.of("busy", 1000)).toBeCloseTo(1000, 6)
  expect(use.of("n0", 1000)).toBe(0)
  expect(use.of("n99999", 1000)).toBeCloseTo(0.01, 6)
})
