import { describe, expect, test } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import * as Effect from "effect/Effect"
import * as Client from "./Client.ts"
import * as Patch from "./Patch.ts"
import * as Scripted from "./Scripted.fixture.ts"
import { answer, ConfigMap, configMap } from "./Scripted.fixture.ts"

describe("The options of a write", () => {
  const key = { namespace: "a", name: "b" }
  const object = { metadata: key }
  const options = { fieldManager: "me", dryRun: true, fieldValidation: "Warn" } as const
  const stored = configMap("b")
  const table: ReadonlyArray<readonly [string, Effect.Effect<unknown, unknown, Client.Client>]> = [
    ["create", Client.create(ConfigMap, object, options)],
    ["replace", Client.replace(ConfigMap, object, options)],
    ["patch", Client.patch(ConfigMap, key, Patch.merge({}), options)],
    ["apply", Client.apply(ConfigMap, object, options)],
    ["status.replace", Client.status.replace(ConfigMap, stored, options)],
    ["status.patch", Client.status.patch(ConfigMap, key, Patch.merge({}), options)],
    ["status.apply", Client.status.apply(ConfigMap, object, options)],
    ["scale.patch", Client.scale.patch(ConfigMap, key, Patch.merge({}), options)]
  ]
  for (const [name, write] of table) {
    effect(`are sent by ${name}`, () =>
      Effect.gen(function* () {
        const server = yield* Scripted.make(() => answer(200, stored))
        yield* Effect.provide(write, Scripted.client(server))
        const { pathname, searchParams } = new URL(server.requests[0]?.path ?? "", "https://server")
        const [subresource] = name.includes(".") ? name.split(".") : []
        expect(pathname.split("/")[7]).toBe(subresource)
        expect(Object.fromEntries(searchParams)).toEqual({
          fieldManager: "me",
          dryRun: "All",
          fieldValidation: "Warn"
        })
      })
    )
  }

  test("are tested for every write of a status and of a scale", () => {
    const written = table.map(([name]) => name)
    for (const [subresource, operations] of Object.entries({ status: Client.status, scale: Client.scale })) {
      for (const name of Object.keys(operations))
        if (name !== "get") expect(written).toContain(`${subresource}.${name}`)
    }
  })
})
