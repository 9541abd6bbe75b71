import { describe, expect, test } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Client from "../client/Client.ts"
import * as Patch from "../client/Patch.ts"
import { capture } from "../controller/World.fixture.ts"
import type { KubernetesObject } from "../resource/KubernetesObject.ts"
import * as Metrics from "../telemetry/Metrics.ts"
import { reading } from "../telemetry/Reading.fixture.ts"
import * as Budget from "./Budget.ts"
import * as Cache from "./Cache.ts"
import { settle, WebApp, withServer } from "./Server.fixture.ts"
import * as Shares from "./Shares.ts"
import * as Size from "./Size.ts"
import * as Store from "./Store.ts"
import * as Transform from "./Transform.ts"

/** Labels of so many characters. The keys differ, so that the engine keeps each. */
const labels = (characters: number) =>
  Object.fromEntries(Array.from({ length: characters / 100 }, (_, at) => [`label-${at}`, "x".repeat(90)]))

const large = labels(600_000)

describe("The size of an object", () => {
  const nested = (levels: number): unknown => (levels === 0 ? 1 : [nested(levels - 1)])
  for (const [what, value] of [
    ["one string", { data: { a: "x".repeat(10_000) } }],
    ["many short strings", { data: Array.from({ length: 700 }, () => "abcdef") }],
    ["many keys", { data: Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`k${at}`, ""])) }],
    ["many numbers", { data: Array.from({ length: 1300 }, () => 1) }],
    ["many empty lists", { data: Array.from({ length: 420 }, () => []) }],
    ["many levels", { data: nested(420) }]
  ] as const) {
    test(`counts ${what}`, () => {
      expect([Budget.exceeds(value, 9000), Budget.exceeds(value, 20_000)]).toEqual([true, false])
    })
  }

  test("is at most eight bytes for each character of JSON", () => {
    for (const value of [[], {}, 1, "", null, [[], []], { "": [] }, Array.from({ length: 1000 }, () => [])]) {
      expect(Budget.exceeds(value, 8 * JSON.stringify(value).length + 16)).toBe(false)
    }
  })

  test("is found in 9,900 levels and does not depend on the rest of a large object", () => {
    expect(Budget.exceeds(nested(9900), Number.POSITIVE_INFINITY)).toBe(false)
    let visited = 0
    const fields = Array.from({ length: 1000 }, () => ({
      get field() {
        visited++
        return "x".repeat(100)
      }
    }))
    expect(Budget.exceeds(fields, 5000)).toBe(true)
    expect(visited).toBeLessThan(50)
  })
})

describe("A cache", () => {
  const a = { namespace: "default", name: "a" }
  const kept = (object: KubernetesObject | undefined) => JSON.stringify(object).length
  const tooLarge = `homeostat_cache_objects_too_large{kind="webapps.apps.kubedojo.io"}`

  effect("keeps name and version of an object that is too large, and logs that", () => {
    const registry = Metrics.make()
    const lines: Array<string> = []
    return withServer([], (server) =>
      Effect.gen(function* () {
        server.put({ name: "a", labels: large })
        server.put({ name: "b" })
        const { store, synced } = yield* Cache.informer(WebApp)
        yield* synced
        yield* settle
        expect(kept(store.get("default/a"))).toBeLessThan(500)
        expect(lines).toEqual([expect.stringMatching(/^WARN .*name and version of WebApp default\/a: .*524288 bytes/)])
        expect(reading(registry)[tooLarge]).toBe(1)
        expect((yield* Cache.list(WebApp)).items.map(({ metadata }) => metadata.name)).toEqual(["b"])
        const [whole] = Option.toArray(yield* Cache.get(WebApp, a))
        expect(whole?.metadata.labels).toEqual(large)

        server.put({ name: "b", labels: large })
        yield* settle
        expect([kept(store.get("default/b")) < 500, reading(registry)[tooLarge]]).toEqual([true, 2])
        server.put({ name: "b", labels: {} })
        server.remove("default/a")
        yield* settle
        expect([store.get("default/b")?.metadata.labels, reading(registry)[tooLarge]]).toEqual([{}, 0])

        server.hold()
        yield* Client.patch(WebApp, { ...a, name: "b" }, Patch.merge({ metadata: { labels: large } }))
        expect(kept(store.get("default/b"))).toBeLessThan(500)
        server.release()
        yield* settle
        expect([kept(store.get("default/b")) < 500, reading(registry)[tooLarge]]).toEqual([true, 1])
      })
    )().pipe(Effect.provide(capture(lines)), Effect.provideService(Metrics.Metrics, registry))
  })

  effect("logs ten of a thousand objects that are too large", () => {
    const lines: Array<string> = []
    return withServer([], (server) =>
      Effect.gen(function* () {
        const transform = Transform.of(WebApp, (object) => object, { maxBytes: 1000 })
        for (let at = 0; at < 1000; at++) server.put({ name: `a-${at}`, labels: labels(2000) })
        yield* Effect.flatMap(Cache.informer(WebApp, { transform }), ({ synced }) => synced)
        for (let at = 0; at < 1000; at++) server.put({ name: `a-${at}`, labels: labels(3000) })
        yield* settle
        expect(lines).toHaveLength(10)
      })
    )().pipe(Effect.provide(capture(lines)))
  })

  test.each([[undefined], [10], [100_000]])("counts an object once, with %p characters of its page", (length) => {
    const shares = Shares.make(2 ** 30)
    const budget = Budget.make(WebApp, undefined, { shares, table: () => table, exchange: () => {} })
    const table = Store.make([], budget.replaced)
    const object: KubernetesObject & { readonly spec: object } = {
      apiVersion: "apps.example.com/v1",
      kind: "WebApp",
      metadata: {
        name: "a",
        namespace: "default",
        uid: "u",
        resourceVersion: "1",
        creationTimestamp: "",
        labels: { a: "b" }
      },
      spec: { image: "x".repeat(3000), ports: [1, 2] }
    }
    for (const each of [object, { ...object, metadata: { ...object.metadata, resourceVersion: "2" } }]) {
      table.set("default/a", budget.keep(each, each, length))
      expect(shares.total()).toBe(512 + Size.sizeOf(each))
    }
    table.delete("default/a")
    expect(shares.total()).toBe(0)
  })

  test("keeps the metadata of a large object if it is small, with its owner", () => {
    const ownerReferences = [{ apiVersion: "v1", kind: "Owner", name: "o", uid: "owner", controller: true }]
    const budget = Budget.make(WebApp)
    const metadata = { ...a, uid: "u", resourceVersion: "1", creationTimestamp: "", labels: { app: "x" } }
    const object = { metadata: { ...metadata, ownerReferences }, spec: { text: "x".repeat(600_000) } }
    expect(budget.keep(object, object)).toEqual({
      apiVersion: "meta.k8s.io/v1",
      kind: "PartialObjectMetadata",
      metadata: object.metadata
    })
    const small = { metadata }
    expect(budget.keep(small, small)).toBe(small)
    // The object that was sent was short.
    expect(budget.keep(object, object, 1000)).toBe(object)
  })
})
