import { describe, expect, test } from "bun:test"
import * as LeaseScope from "./LeaseScope.ts"

const scope = (change: Partial<LeaseScope.LeaseScope>): LeaseScope.LeaseScope => ({
  controllers: ["backup", "webapp"],
  namespaces: [],
  selector: undefined,
  ...change
})

describe("The overlap of two scopes is", () => {
  const table: ReadonlyArray<readonly [string, LeaseScope.LeaseScope, LeaseScope.LeaseScope, string]> = [
    ["all if they name the same in another order", scope({}), scope({ controllers: ["webapp", "backup"] }), "all"],
    ["some if a controller is added", scope({ controllers: ["backup"] }), scope({}), "some"],
    ["some if a namespace is added", scope({ namespaces: ["a"] }), scope({ namespaces: ["a", "b"] }), "some"],
    ["some if one has all namespaces", scope({ namespaces: ["a"] }), scope({}), "some"],
    ["some if only their labels differ", scope({ selector: "team=a" }), scope({ selector: "team=b" }), "some"],
    ["none with other controllers", scope({ controllers: ["backup"] }), scope({ controllers: ["webapp"] }), "none"],
    ["none in other namespaces", scope({ namespaces: ["a"] }), scope({ namespaces: ["b"] }), "none"]
  ]
  for (const [name, one, other, overlap] of table) {
    test(name, () => {
      expect(LeaseScope.overlap(one, other)).toBe(overlap as never)
      expect(LeaseScope.overlap(other, one)).toBe(overlap as never)
    })
  }
})

describe("The annotation of a scope", () => {
  test("is read as it was written", () => {
    const all = [scope({}), scope({ namespaces: ["b", "a"] }), scope({ selector: "team in (a,b)" })]
    for (const each of all) {
      const read = LeaseScope.decode(LeaseScope.encode(each))
      expect(read && LeaseScope.overlap(read, each)).toBe("all")
    }
  })

  for (const text of [undefined, "", "x", "null", "[]", "{}", `{"controllers":"a","namespaces":[]}`]) {
    test(`is ignored with the value ${text}`, () => expect(LeaseScope.decode(text)).toBeUndefined())
  }
})

test("A scope is described by its controllers, namespaces and labels", () => {
  expect(LeaseScope.describe(scope({}))).toBe("controllers backup, webapp")
  expect(LeaseScope.describe(scope({ controllers: ["webapp"], namespaces: ["b", "a"], selector: "team=a" }))).toBe(
    "controller webapp in namespaces a, b with labels team=a"
  )
})
