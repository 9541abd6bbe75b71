import { expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import { ConfigMap } from "@homeostat/runtime/resource/BuiltIn"
import * as Harness from "@homeostat/testkit/Harness"
import * as Effect from "effect/Effect"
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
  }))
