import { expect, test } from "bun:test"
import * as Hashed from "./Hashed.ts"

test("a path has the hashes of all that it goes through, and its own as the last one", () => {
  const parts = ["spec", "spec.ports", "spec.ports[80]", "spec.ports[80].name"]
  expect(Hashed.path("spec.ports[80].name")).toEqual(parts.map(Hashed.of))
  expect(new Set(["", "a", "b", "ab", ...parts].map(Hashed.of)).size).toBe(8)
})

test("a list keeps the entries that were asked for last", () => {
  const list: Array<Hashed.Hashed & { readonly of: string }> = []
  for (const name of ["a", "b", "c", "a", "d"]) Hashed.refresh(list, name, (hash) => ({ name: hash, of: name }), 3)
  expect(list.map(({ of }) => of)).toEqual(["c", "a", "d"])
  expect(Hashed.find(list, "a")?.of).toBe("a")
  expect(Hashed.find(list, "b")).toBeUndefined()
})
