import { expect, test } from "bun:test"
import { byPriority } from "./Version.ts"

test("versions are sorted by stability, then by number, then by name", () => {
  const sorted = ["v10", "v2", "v1", "v11beta2", "v10beta3", "v3beta1", "v12alpha1", "v11alpha2", "bar", "foo"]
  expect(sorted.toReversed().sort(byPriority)).toEqual(sorted)
})
