import { describe, expect, test } from "bun:test"
import * as Result from "effect/Result"
import * as Election from "./Election.ts"

const program = { name: "shop", controllers: [{ name: "carts" }, { name: "orders" }] }

const settings = (change: Partial<Election.Settings> = {}): Election.Settings => ({
  leaderElect: true,
  leaseName: undefined,
  leaseNamespace: undefined,
  controllers: [],
  namespaces: [],
  selector: undefined,
  ...change
})

const nameOf = (change: Partial<Election.Settings>) =>
  Result.map(Election.leaseOf(program, settings(change), "home"), (lease) => lease?.name)

describe("the Lease of a manager", () => {
  test("does not exist without leader election", () => {
    expect(Election.leaseOf(program, settings({ leaderElect: false }), undefined)).toEqual(Result.succeed(undefined))
  })

  test("is in the own namespace, unless a flag names another one; without either, the error names the flag", () => {
    const placeOf = (home: string | undefined, leaseNamespace?: string) =>
      Result.map(Election.leaseOf(program, settings({ leaseNamespace }), home), (lease) => lease?.namespace)
    expect(placeOf("home")).toEqual(Result.succeed("home"))
    expect(placeOf("home", "away")).toEqual(Result.succeed("away"))
    expect(placeOf(undefined, "away")).toEqual(Result.succeed("away"))
    const refused = Result.flip(placeOf(undefined))
    expect(Result.getOrThrow(refused).message).toStartWith("--leader-elect-resource-namespace: ")
  })

  test("has the program's name if the manager runs all controllers on all objects", () => {
    expect(nameOf({})).toEqual(Result.succeed("shop"))
    expect(nameOf({ controllers: ["orders", "carts"] })).toEqual(Result.succeed("shop"))
  })

  const partial: ReadonlyArray<readonly [Partial<Election.Settings>, string]> = [
    [{ controllers: ["carts"] }, "--controllers"],
    [{ namespaces: ["a"] }, "--namespace"],
    [{ selector: "team=a" }, "--selector"],
    [{ controllers: ["carts"], namespaces: ["a"], selector: "team=a" }, "--controllers and --namespace and --selector"]
  ]
  for (const [change, flags] of partial) {
    test(`needs an explicit name with ${flags}, and other flags do not change it`, () => {
      const refused = Result.getOrThrow(Result.flip(nameOf(change))).message
      expect(refused).toStartWith(`--leader-elect-resource-name: required with --leader-elect and ${flags} (`)
      expect(nameOf({ ...change, leaseName: "mine" })).toEqual(Result.succeed("mine"))
      expect(nameOf({ ...change, namespaces: ["a", "b"], leaseName: "mine" })).toEqual(Result.succeed("mine"))
      expect(nameOf({ ...change, leaderElect: false })).toEqual(Result.succeed(undefined))
    })
  }
})
