/** Every public function has an `@example`, and a sample of the examples of a reconcile runs. The lane deep compiles and runs all. */
import { afterAll, expect, test } from "bun:test"
import { rmSync } from "node:fs"
import { functions } from "../../../docs/generate/Api.ts"
import * as Bodies from "./Bodies.ts"
import * as Example from "./Example.ts"

const folder = Example.write(Example.all)

afterAll(() => rmSync(folder, { recursive: true, force: true }))

test("every function of the reference has an example", () => {
  expect(functions.length).toBeGreaterThan(100)
  expect(functions.filter(({ example }) => example === undefined).map(({ name }) => name)).toEqual([])
})

Bodies.test(folder, 8)
