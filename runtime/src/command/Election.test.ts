import { describe, expect, test } from "bun:test"
import * as Either from "effect/Either"
import * as Election from "./Election.ts"

const settings = (change: Partial<Election.Settings> = {}): Election.Settings => ({
  leaderElect: true,
  leaseName: undefined,
  leaseNamespace: undefined,
  namespaces: [],
  selector: undefined,
  ...change
})

const nameOf = (change: Partial<Election.Settings>) =>
  Either.getOrThrow(Election.leaseOf("shop", settings(change), "home"))?.name

describe("the Lease of a manager", () => {
  test("is none unless leaders are elected", () => {
    expect(Election.leaseOf("shop", settings({ leaderElect: false }), undefined)).toEqual(Either.right(undefined))
  })

  test("is where we are, unless another place is given; without either, the flag for it is named", () => {
    const placeOf = (home: string | undefined, leaseNamespace?: string) =>
      Either.map(Election.leaseOf("shop", settings({ leaseNamespace }), home), (lease) => lease?.namespace)
    expect(placeOf("home")).toEqual(Either.right("home"))
    expect(placeOf("home", "away")).toEqual(Either.right("away"))
    expect(placeOf(undefined, "away")).toEqual(Either.right("away"))
    const refused = Either.flip(placeOf(undefined))
    expect(Either.getOrThrow(refused).message).toStartWith("--leader-elect-namespace: ")
  })

  test("has the program's name where everything is seen, and one for each slice otherwise", () => {
    expect(nameOf({})).toBe("shop")
    const slices = [
      nameOf({ namespaces: ["a"] }),
      nameOf({ namespaces: ["a", "b"] }),
      nameOf({ selector: "team=a" }),
      nameOf({ namespaces: ["a"], selector: "team=a" })
    ]
    for (const name of slices) expect(name).toMatch(/^shop-[0-9a-f]{8}$/)
    expect(new Set(slices).size).toBe(slices.length)
    expect(nameOf({ namespaces: ["b", "a", "b"] })).toBe(slices[1])
    expect(nameOf({ namespaces: ["a"], leaseName: "mine" })).toBe("mine")
  })
})
