import { expect } from "bun:test"
import * as Harness from "@homeostat/testkit/Harness"
import * as Effect from "effect/Effect"
import { ConfigMap } from "../resource/BuiltIn.ts"
import * as Client from "./Client.ts"
import * as Pages from "./Pages.ts"

const test = Harness.make({ manager: Effect.void })

test("A paged list keeps only the selected fields of the wanted objects", () =>
  Effect.gen(function* () {
    const names = Array.from({ length: 2 * Pages.size + 1 }, (_, n) => `map-${String(n).padStart(3, "0")}`)
    yield* Effect.forEach(names, (name) =>
      Client.create(ConfigMap, { metadata: { namespace: "default", name }, data: { large: "x".repeat(1000) } })
    )
    const keep = ({ metadata: { name } }: ConfigMap) => (name.endsWith("0") ? undefined : name)
    const kept = yield* Pages.all(ConfigMap, { namespace: "default" }, keep)
    expect(kept.filter((name) => name.startsWith("map-"))).toEqual(names.filter((name) => !name.endsWith("0")))

    const visited: Array<string> = []
    const find = (suffix: string, selected: Parameters<typeof Pages.find>[1] = {}) =>
      Pages.find(ConfigMap, { namespace: "default", ...selected }, ({ metadata: { name } }) => {
        visited.push(name)
        return name.startsWith("map-") && name.endsWith(suffix) ? name : undefined
      })
    expect(yield* find("005")).toBe("map-005")
    expect(visited.length).toBeLessThan(Pages.size)
    expect(yield* find("x")).toBeUndefined()
    expect(visited.slice(-1)).toEqual(names.slice(-1))

    const { resourceVersion } = yield* Client.page(ConfigMap, { namespace: "default" })
    yield* Client.create(ConfigMap, { metadata: { namespace: "default", name: "map-new" } })
    expect(yield* find("new")).toBe("map-new")
    expect(yield* find("new", { resourceVersion, resourceVersionMatch: "Exact" })).toBeUndefined()
  }))

test("A paged list reads at most as many pages as its caller allows", () =>
  Effect.gen(function* () {
    yield* Effect.forEach(
      Array.from({ length: 3 * Pages.size }, (_, n) => `map-${String(n).padStart(3, "0")}`),
      (name) => Client.create(ConfigMap, { metadata: { namespace: "default", name } })
    )
    const first = { fieldSelector: "metadata.namespace=default", mostPages: 2 }
    const kept = yield* Pages.all(ConfigMap, first, ({ metadata: { name } }) => name)
    expect(kept).toHaveLength(2 * Pages.size)
  }))
