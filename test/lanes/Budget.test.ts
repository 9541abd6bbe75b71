import { expect, test } from "bun:test"
import * as Budget from "./Budget.ts"

test("The budget is kept up to its last loop", () => {
  expect(Budget.of(150, [1.5, 1.5], 100)).toEqual({ loops: 100, problem: undefined })
})

test("Tests that need more CPU than the budget exceed it, and the problem contains the number of loops", () => {
  expect(Budget.of(165, [1.5, 1.5], 100).problem).toBe(
    "the fast lanes exceeded their CPU budget: 110 calibration loops (at most 100; make the tests faster, or move long ones to the lane deep)"
  )
})

test("A machine that is slower in the tests and in the loops keeps the budget", () => {
  expect(Budget.of(300, [2, 4], 100).problem).toBeUndefined()
})

test("A loop without a measurement exceeds the budget", () => {
  expect(Budget.of(0, [0, 0], 100).problem).toBeDefined()
  expect(Budget.of(150, [], 100).problem).toBeDefined()
})

test("A calibration measures the CPU time of each process", async () => {
  const seconds = await Budget.calibrate(1)
  expect(seconds).toHaveLength(1)
  expect(seconds[0]).toBeGreaterThan(0.01)
}, 60_000)
