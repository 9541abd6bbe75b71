import { describe, expect, test } from "bun:test"
import * as Seed from "@homeostat/testkit/Seed.fixture"
import { effect } from "@homeostat/testkit/Test"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as TestClock from "effect/testing/TestClock"
import * as FastCheck from "fast-check"
import { capture } from "../controller/World.fixture.ts"
import { type KubernetesObject, keyString } from "../resource/KubernetesObject.ts"
import * as Metrics from "../telemetry/Metrics.ts"
import { reading } from "../telemetry/Reading.fixture.ts"
import * as Cache from "./Cache.ts"
import { type Server, settle, WebApp, withServer } from "./Server.fixture.ts"
import * as Shares from "./Shares.ts"
import * as Size from "./Size.ts"
import * as Store from "./Store.ts"
import * as Transform from "./Transform.ts"

const kib = 1024

/** Labels of about so many KiB. */
const labels = (size: number) =>
  Object.fromEntries(Array.from({ length: size * 8 }, (_, at) => [`label-${at}`, "x".repeat(86)]))

const put = (server: Server, namespace: string, from: number, to: number, size: number) => {
  for (let at = from; at < to; at++) server.put({ namespace, name: `${namespace}-${at}`, labels: labels(size) })
}

const remove = (server: Server, namespace: string, from: number, to: number) => {
  for (let at = from; at < to; at++) server.remove(`${namespace}/${namespace}-${at}`)
}

/** The objects of a namespace that the cache has whole, and the others. */
const counts = (store: Store.Store, namespace: string) => {
  const all = store.list({ namespace })
  const short = all.filter((object) => Transform.crowdedBytes(object) !== undefined).length
  return { whole: all.length - short, short }
}

/** A cache of 1 MiB. */
const inCache = (
  body: (
    server: Server,
    informer: Cache.Informer,
    registry: Metrics.Registry
  ) => Effect.Effect<void, unknown, Cache.Cache>,
  logged: Array<string> = []
) => {
  const registry = Metrics.make()
  return () =>
    withServer(
      [],
      (server) =>
        Effect.gen(function* () {
          const informer = yield* Cache.informer(WebApp)
          yield* informer.synced
          yield* body(server, informer, registry)
        }),
      { memory: 1024 * kib }
    )().pipe(Effect.provideService(Metrics.Metrics, registry), Effect.provide(capture(logged)))
}

const tooLarge = `homeostat_cache_objects_too_large{kind="webapps.apps.kubedojo.io"}`

describe("The memory of a cache", () => {
  const logged: Array<string> = []
  effect(
    "is taken from the namespace that takes most, and the others keep their objects",
    inCache(
      (server, { store }, registry) =>
        Effect.gen(function* () {
          put(server, "honest", 0, 20, 10)
          put(server, "tenant", 0, 400, 20)
          yield* settle
          expect(counts(store, "honest")).toEqual({ whole: 20, short: 0 })
          const { short, whole } = counts(store, "tenant")
          expect([short + whole, whole > 15 && whole < 45]).toEqual([400, true])
          const { [tooLarge]: stubs, homeostat_cache_memory_bytes: bytes = 0, ...rest } = reading(registry)
          expect([stubs, rest.homeostat_cache_memory_limit_bytes]).toEqual([short, 1024 * kib])
          expect([bytes > 900 * kib, bytes <= 1024 * kib]).toEqual([true, true])
          expect((yield* Cache.list(WebApp, { namespace: "tenant" })).items).toHaveLength(whole)
          // The next reconcile reads the object from the API server.
          const [found] = Option.toArray(yield* Cache.get(WebApp, { namespace: "tenant", name: "tenant-399" }))
          expect(found?.metadata.labels).toEqual(labels(20))
          put(server, "late", 0, 20, 10)
          yield* settle
          expect(counts(store, "late")).toEqual({ whole: 20, short: 0 })
          expect(counts(store, "tenant").whole).toBeLessThan(whole)
          expect(logged.filter((line) => line.includes("the cache is full"))).toEqual([
            expect.stringMatching(/1048576 bytes.* largest objects of namespace tenant, .*--cache-memory/)
          ])
        }),
      logged
    )
  )

  effect(
    "holds the small objects of the namespace that takes most before its large ones",
    inCache((server, { store }) =>
      Effect.gen(function* () {
        put(server, "tenant", 0, 20, 5)
        put(server, "tenant", 100, 140, 100)
        yield* settle
        const short = store.list({ namespace: "tenant" }).filter((object) => object.kind === Transform.partial)
        expect(short.length).toBeGreaterThan(25)
        expect(
          short.filter(({ metadata: { name } }) => name < "tenant-100").map(({ metadata }) => metadata.name)
        ).toEqual([])
      })
    )
  )

  effect(
    "belongs to one namespace alone",
    inCache((server, { store }) =>
      Effect.gen(function* () {
        put(server, "only", 0, 40, 10)
        yield* settle
        expect(counts(store, "only")).toEqual({ whole: 40, short: 0 })
      })
    )
  )

  effect(
    "is free again when objects go or shrink, and listeners see both",
    inCache((server, { store, subscribe }) =>
      Effect.gen(function* () {
        const seen: Array<string> = []
        subscribe((changes) => {
          for (const { object, relisted, type } of changes) if (relisted) seen.push(`${type} ${object.kind}`)
        })
        put(server, "tenant", 0, 100, 20)
        put(server, "late", 0, 40, 10)
        yield* settle
        const { short } = counts(store, "tenant")
        expect([short > 50, seen.includes("updated PartialObjectMetadata")]).toEqual([true, true])
        const reads = () => server.requests.filter((line) => line.startsWith("GET") && line.includes("/tenant-")).length
        yield* TestClock.adjust("1 minute")
        expect(reads()).toBe(0)
        remove(server, "tenant", 25, 90)
        for (let at = 90; at < 100; at++) server.put({ namespace: "tenant", name: `tenant-${at}`, labels: {} })
        remove(server, "late", 0, 30)
        yield* settle
        yield* TestClock.adjust("11 seconds")
        expect(counts(store, "tenant")).toEqual({ whole: 35, short: 0 })
        expect(store.get("tenant/tenant-0")?.metadata.labels).toEqual(labels(20))
        expect([seen.includes("updated WebApp"), reads() < 26]).toEqual([true, true])
        const before = reads()
        yield* TestClock.adjust("10 minutes")
        expect(reads()).toBe(before)
      })
    )
  )

  effect(
    "goes back to a namespace that takes less than another one since",
    inCache((server, { store }) =>
      Effect.gen(function* () {
        put(server, "first", 0, 60, 20)
        yield* settle
        expect(counts(store, "first").short).toBeGreaterThan(5)
        remove(server, "first", 20, 60)
        put(server, "tenant", 0, 100, 20)
        yield* settle
        yield* TestClock.adjust("1 minute")
        expect(counts(store, "first")).toEqual({ whole: 20, short: 0 })
      })
    )
  )
})

describe("In any order of changes", () => {
  const limit = 400 * kib

  /** Three stores of a cache. */
  const world = () => {
    const shares = Shares.make(limit)
    const stores = Array.from({ length: 3 }, () => {
      const share = shares.join({
        sizeOf: Size.sizeOf,
        keys: (namespace) => Array.from(table.keys(namespace)),
        shorten: (keys) => {
          for (const key of keys) {
            const object = table.get(key)
            if (object !== undefined) table.set(key, Transform.crowded(object, 1))
          }
        }
      })
      const table: Store.Table = Store.make([], share.replaced)
      return { share, table }
    })
    return { shares, stores }
  }

  test("objects without a namespace stay, and the namespace that takes most makes room for them", () => {
    const { shares, stores } = world()
    const { table } = stores[0] ?? expect.unreachable()
    const keep = (namespace: string | undefined, name: string, characters: number): void => {
      const metadata = { ...(namespace !== undefined && { namespace }), name, uid: name, resourceVersion: "1" }
      const object = { apiVersion: "v1", kind: "K", metadata: { ...metadata, creationTimestamp: "" } }
      table.set(keyString(metadata), { ...object, spec: "x".repeat(characters) } as KubernetesObject)
      shares.shed()
    }
    for (let at = 0; at < 10; at++) keep("tenant", `t${at}`, 10 * kib)
    for (let at = 0; at < 35; at++) keep(undefined, `c${at}`, 10 * kib)
    const short = table.list().filter((object) => Transform.crowdedBytes(object) !== undefined)
    expect(short.length).toBeGreaterThan(0)
    expect(short.filter(({ metadata }) => metadata.namespace === undefined)).toEqual([])
    expect(shares.total()).toBeLessThanOrEqual(limit)
  })

  const change = FastCheck.record({
    part: FastCheck.nat(2),
    namespace: FastCheck.constantFrom("honest", "a", "b", "c"),
    name: FastCheck.nat(9),
    size: FastCheck.oneof(FastCheck.nat(1000), FastCheck.nat(60 * kib)),
    isGone: FastCheck.nat(4).map((number) => number === 0)
  })

  test("a namespace within a quarter of the cache keeps its objects, and the cache has its size", () => {
    const property = FastCheck.property(FastCheck.array(change, { maxLength: 300 }), (changes) => {
      const { shares, stores } = world()
      changes.forEach(({ isGone, name, namespace, part, size }, step) => {
        const { share, table } = stores[part] ?? expect.unreachable()
        const isHonest = namespace === "honest"
        const metadata = { namespace, name: isHonest ? `${name % 5}` : `${name}`, uid: "u", creationTimestamp: "" }
        const spec = "x".repeat(isHonest ? size % (4 * kib) : size)
        const object = { kind: "K", metadata: { ...metadata, resourceVersion: `${step}` }, spec }
        if (isGone) table.delete(keyString(metadata))
        else table.set(keyString(metadata), share.keep(object))
        shares.shed()
        expect(shares.total()).toBeLessThanOrEqual(limit)
        for (const { table } of stores) expect(counts(table, "honest").short).toBe(0)
      })
      for (const { table } of stores) for (const key of Array.from(table.keys())) table.delete(key)
      expect([shares.total(), ...stores.map(({ share }) => share.size())]).toEqual([0, 0, 0, 0])
    })
    FastCheck.assert(property, { numRuns: 200, seed: Seed.current() })
  })
})
