import { describe, expect, test } from "bun:test"
import * as Verdict from "./Verdict.ts"

const row = { name: "creation", what: "CPU per created WebApp, ms", lead: 5 }
const pairs = (...ratios: ReadonlyArray<number>) => ratios.map((ratio) => ({ baseline: 8, tree: 8 * ratio }))

/** Numbers from 0 to 1 that only depend on the seed (mulberry32). */
const randomOf = (seed: number) => {
  let state = seed
  return (): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Returns how many of 2,000 rows fail whose tree costs `cost` times as much, with this standard deviation of each ratio. */
const failures = (cost: number, deviation: number) => {
  const random = randomOf(7)
  const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
  let failed = 0
  let taken = 0
  for (let trial = 0; trial < 2000; trial++) {
    const measured: Array<Verdict.Pair> = []
    while (Verdict.of(measured, row) === undefined)
      measured.push({ baseline: 1, tree: cost * Math.exp(deviation * normal()) })
    if (Verdict.of(measured, row) === false) failed++
    taken += measured.length
  }
  return { failed: failed / 2000, pairs: taken / 2000 }
}

describe("A row", () => {
  test("is open until one side leads by five", () => {
    expect(Verdict.of([], row)).toBeUndefined()
    expect(Verdict.of(pairs(1, 1, 1, 1), row)).toBeUndefined()
    expect(Verdict.of(pairs(1, 1, 1, 1, 1), row)).toBe(true)
    expect(Verdict.of(pairs(1.2, 1.2, 1.2, 1.2, 1.2), row)).toBe(false)
    expect(Verdict.of(pairs(1, 1, 1, 1, 9, 1), row)).toBeUndefined()
    expect(Verdict.of(pairs(1, 1, 1, 1, 9, 1, 1), row)).toBe(true)
  })

  test("is decided by the majority of fifteen pairs", () => {
    const split = (against: number, more: ReadonlyArray<number>) =>
      pairs(...Array.from({ length: 14 }, (_, at) => (at % 2 < against ? 1.3 : 1)), ...more)
    expect(Verdict.of(split(1, []), row)).toBeUndefined()
    expect(Verdict.of(split(1, [1]), row)).toBe(true)
    expect(Verdict.of(split(1, [1.3]), row)).toBe(false)
  })

  test("may cost a tenth more than the baseline, or than the raised baseline", () => {
    const once = { lead: 1 }
    expect([1.099, 1.101].map((ratio) => Verdict.of(pairs(ratio), once))).toEqual([true, false])
    expect([1.319, 1.321].map((ratio) => Verdict.of(pairs(ratio), once, 1.2))).toEqual([true, false])
  })

  test("that costs nothing at the baseline must cost nothing", () => {
    expect(Verdict.of([{ baseline: 0, tree: 0 }], { lead: 1 })).toBe(true)
    expect(Verdict.of([{ baseline: 0, tree: 0.1 }], { lead: 1 })).toBe(false)
  })

  test("without a number fails", () => {
    expect(Verdict.of([{ baseline: 1, tree: Number.NaN }], { lead: 1 })).toBe(false)
    expect(Verdict.of([{ baseline: Number.NaN, tree: 1 }], { lead: 1 })).toBe(false)
  })

  test("is described with both medians, their ratio and its limit", () => {
    expect(Verdict.describe(row, pairs(1.3, 1.2, 1.1))).toBe(
      "creation: CPU per created WebApp, ms: 9.6, and 8 at the baseline: ratio 1.200 (at most 1.10; medians of 3, 1.10 to 1.30)"
    )
  })
})

describe("With noise", () => {
  test("an unchanged tree passes", () => {
    expect(failures(1, 0.05).failed).toBe(0)
    expect(failures(1, 0.1).failed).toBeLessThan(0.002)
  })

  test("a tree that costs 15 % more fails", () => {
    expect(failures(1.15, 0.03).failed).toBeGreaterThan(0.999)
    expect(failures(1.15, 0.05).failed).toBeGreaterThan(0.99)
  })

  test("few pairs decide", () => {
    expect(failures(1, 0.05).pairs).toBeLessThan(6)
    expect(failures(1.15, 0.05).pairs).toBeLessThan(10)
  })
})
