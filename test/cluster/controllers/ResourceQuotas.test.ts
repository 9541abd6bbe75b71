/** Tests of the usage in the status of ResourceQuotas. */
import { expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import { ConfigMap, ResourceQuota } from "@homeostat/runtime/resource/BuiltIn"
import { Effect } from "effect"
import { eventually } from "../Eventually.ts"
import * as Harness from "../Harness.ts"

const test = Harness.make({ manager: Effect.void })

const named = (name: string) => ({ namespace: "default", name })

const used = Effect.map(Client.get(ResourceQuota, named("maps")), ({ status }) => status?.used)

test("a deletion frees the quota for another object", () =>
  Effect.gen(function* () {
    yield* Client.create(ConfigMap, { metadata: named("before") })
    yield* Client.create(ResourceQuota, {
      metadata: named("maps"),
      spec: { hard: { configmaps: "3", "count/nothings.example.com": "1" } }
    })
    const count = (configmaps: string) =>
      eventually(`the usage is ${configmaps}`, used, (found) => Bun.deepEquals(found, { configmaps }))
    // The CA certificates of the cluster are in another ConfigMap.
    yield* count("2")
    yield* Client.create(ConfigMap, { metadata: named("last") })
    yield* count("3")
    const refused = yield* Effect.flip(Client.create(ConfigMap, { metadata: named("more") }))
    expect(refused.message).toContain("exceeded quota: maps, requested: configmaps=1, used: configmaps=3")
    yield* Client.delete(ConfigMap, named("last"))
    yield* count("2")
    yield* Client.create(ConfigMap, { metadata: named("more") })
    yield* count("3")
  }))
