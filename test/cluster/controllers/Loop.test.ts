import { expect } from "bun:test"
import { object as objectOf } from "@homeostat/apiserver/model/Json"
import { keyOfObject, nameOf } from "@homeostat/apiserver/model/ObjectMeta"
import { Effect, Logger } from "effect"
import { TestClock } from "effect/testing"
import { effect } from "../Test.ts"
import { type BuiltInController, nothing } from "./BuiltInController.ts"
import { start } from "./Running.fixture.ts"

const controller = (reconcile: BuiltInController["reconcile"]): BuiltInController => ({
  name: "test",
  manager: "kube-controller-manager",
  component: "test",
  storages: ["/configmaps"],
  keys: ({ object }) => [keyOfObject(object)],
  reconcile
})

const configMap = (name: string, data = {}) => ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data })

effect("Loop processes a key once for all changes since its last pass, in order", () =>
  Effect.gen(function* () {
    const seen: Array<string> = []
    const running = yield* start([
      controller((_, key) => {
        seen.push(key)
        return nothing
      })
    ])
    for (const name of ["b", "a"]) running.make(configMap(name))
    running.merge("v1", "ConfigMap", "b", { data: { changed: "yes" } })
    yield* running.idle
    expect(seen).toEqual(["default/b", "default/a"])
  })
)

effect("Loop processes objects from before its start", () =>
  Effect.gen(function* () {
    const seen: Array<string> = []
    yield* start([
      {
        ...controller((_, key) => {
          seen.push(key)
          return nothing
        }),
        storages: ["/namespaces"],
        keys: ({ object }) => [nameOf(object)]
      }
    ])
    expect(seen).toContain("default")
  })
)

effect("Loop processes a key again exactly when its time has come", () =>
  Effect.gen(function* () {
    const times: Array<number> = []
    const running = yield* start([
      controller((_, __, now) => {
        times.push(now)
        return { writes: [], again: times.length < 3 ? 60_000 : undefined }
      })
    ])
    running.make(configMap("a"))
    yield* running.idle
    yield* TestClock.adjust(59_999)
    yield* running.idle
    expect(times.length).toBe(1)
    yield* TestClock.adjust(60_001)
    yield* running.idle
    const [first = 0] = times
    expect(times.map((time) => time - first)).toEqual([0, 60_000, 120_000])
  })
)

effect("Loop retries a rejected pass with increasing delays", () =>
  Effect.gen(function* () {
    const times: Array<number> = []
    const running = yield* start([
      controller((snapshot, key, now) => {
        times.push(now)
        const object = snapshot.get("/configmaps", "default", key.split("/")[1] ?? "")
        if (object === undefined || times.length > 4) return nothing
        const stale = { ...object, metadata: { ...objectOf(object.metadata), resourceVersion: "1" } }
        return { writes: [{ verb: "update", object: stale }] }
      })
    ])
    running.make(configMap("a"))
    yield* running.idle
    for (let passed = 0; passed < 100; passed += 5) {
      yield* TestClock.adjust(5)
      yield* running.idle
    }
    const [first = 0] = times
    expect(times.map((time) => time - first)).toEqual([0, 5, 15, 35, 75])
  })
)

effect("After a rejected write, Loop only sends the writes that are intended for this case", () =>
  Effect.gen(function* () {
    let passes = 0
    const running = yield* start([
      controller(() =>
        passes++ > 0
          ? nothing
          : {
              writes: [
                {
                  verb: "create",
                  object: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "-", namespace: "default" } },
                  done: () => [{ verb: "create", object: configMap("done") }],
                  failed: () => [
                    {
                      verb: "create",
                      object: { ...configMap("failed"), metadata: { name: "failed", namespace: "default" } }
                    }
                  ]
                },
                {
                  verb: "create",
                  object: { ...configMap("after"), metadata: { name: "after", namespace: "default" } }
                }
              ]
            }
      )
    ])
    running.make(configMap("a"))
    yield* running.idle
    expect(running.store.list("/configmaps", "default").map(nameOf)).toEqual(["a", "failed"])
  })
)

effect("Loop continues after a controller throws", () =>
  Effect.gen(function* () {
    let passes = 0
    const running = yield* start([
      controller((_, key) => {
        if (key !== "default/a") throw new TypeError("a mistake")
        passes++
        return nothing
      })
    ])
    running.make(configMap("bad"))
    running.make(configMap("a"))
    yield* running.idle
    expect(passes).toBe(1)
  }).pipe(Effect.provide(Logger.layer([])))
)

effect("Loop passes the memory of a pass to the next pass of its key", () =>
  Effect.gen(function* () {
    const seen: Array<unknown> = []
    const running = yield* start([
      controller((_, key, __, memory) => {
        seen.push([key, memory])
        return { writes: [], memory: `of ${key}` }
      })
    ])
    for (const name of ["a", "b"]) running.make(configMap(name))
    yield* running.idle
    running.merge("v1", "ConfigMap", "a", { data: { changed: "yes" } })
    yield* running.idle
    expect(seen).toEqual([
      ["default/a", undefined],
      ["default/b", undefined],
      ["default/a", "of default/a"]
    ])
  })
)

effect("Loop is deterministic for a seed", () =>
  Effect.gen(function* () {
    const play = Effect.gen(function* () {
      const running = yield* start(undefined, 7)
      running.make({
        apiVersion: "apps/v1",
        kind: "Deployment",
        metadata: { name: "d" },
        spec: {
          replicas: 3,
          selector: { matchLabels: { app: "d" } },
          template: { metadata: { labels: { app: "d" } }, spec: { containers: [{ name: "c", image: "i" }] } }
        }
      })
      yield* running.idle
      return running.saved()
    })
    const [one, other] = [yield* Effect.scoped(play), yield* Effect.scoped(play)]
    expect(one.storages["/pods"]?.length).toBe(3)
    expect(other).toEqual(one)
  })
)
