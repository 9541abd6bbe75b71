/** The corpus of mutants, and every twelfth one of it. The others are in the lane deep. */
import { expect, test } from "bun:test"
import * as Mutants from "./Mutants.ts"

Mutants.test((place) => place % 12 === 0)

test("the corpus has at least 20 mutants, each with a name of its own", () => {
  const names = Mutants.mutants.map(({ name }) => name)
  expect(new Set(names).size).toBe(names.length)
  expect(names.length).toBeGreaterThanOrEqual(20)
})
