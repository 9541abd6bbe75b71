/** The faults of the testkit, as a controller meets them. */
import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import * as Transport from "@homeostat/runtime/client/Transport"
import * as Controller from "@homeostat/runtime/controller/Controller"
import * as Owned from "@homeostat/runtime/controller/Owned"
import * as Result from "@homeostat/runtime/controller/Result"
import * as Manager from "@homeostat/runtime/manager/Manager"
import { ConfigMap, Namespace, Secret } from "@homeostat/runtime/resource/BuiltIn"
import { eventually, stays } from "@homeostat/testkit/Eventually"
import * as Faults from "@homeostat/testkit/Faults"
import * as Harness from "@homeostat/testkit/Harness"
import { Clock, Context, Effect, Result as EffectResult, Layer } from "effect"
import { TestClock } from "effect/testing"

/** Makes a Secret from each ConfigMap with a label, and counts the Secrets in an annotation of its namespace. */
const copy = Controller.make("copy", {
  for: ConfigMap,
  owns: [Secret],
  reconcile: (source) =>
    source.metadata.labels?.copy === "yes"
      ? Effect.as(
          Owned.apply(source, Secret, { metadata: { name: source.metadata.name }, stringData: { ...source.data } }),
          Result.done
        )
      : Effect.succeed(Result.done)
})

const test = Harness.make({ manager: Manager.launch([copy]) })

const key = { namespace: "default", name: "one" }

const create = (name = "one", text = "first") =>
  Client.create(ConfigMap, { metadata: { ...key, name, labels: { copy: "yes" } }, data: { text } })

const copied = (name = "one", text = "first") =>
  eventually(
    `the copy of ${name} says ${text}`,
    Client.get(Secret, { ...key, name }),
    ({ data }) => Buffer.from(data?.text ?? "", "base64").toString() === text
  )

/** The duration of an effect, in virtual ms. */
const taken = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const begin = yield* Clock.currentTimeMillis
    yield* effect
    return (yield* Clock.currentTimeMillis) - begin
  })

describe("A controller", () => {
  for (const [what, fault] of [
    ["a conflict", Faults.conflict],
    ["429", Faults.tooManyRequests("1 second")],
    ["503", Faults.unavailable],
    ["a refused connection", Faults.refused]
  ] as const) {
    test(`tries again after ${what}`, ({ faults }) =>
      Effect.gen(function* () {
        const rule = faults.on({ verb: ["create", "patch"], kind: Secret }, fault, { times: 2 })
        yield* create()
        yield* copied()
        expect(rule.hits()).toBe(2)
      }))
  }

  test("finds the object that a write with a lost answer created", ({ faults }) =>
    Effect.gen(function* () {
      const rule = faults.on({ verb: "patch", kind: Secret }, Faults.lost, { times: 1 })
      yield* create()
      yield* eventually("the write", Client.get(Secret, key), () => rule.hits() === 1)
      yield* stays("the Secret", Client.get(Secret, key), "1 minute")
    }))

  test("waits the time of a 429", ({ faults }) =>
    Effect.gen(function* () {
      faults.on({ verb: "patch", kind: Secret }, Faults.tooManyRequests("20 seconds"), { times: 1 })
      yield* create()
      expect(yield* taken(copied())).toBeGreaterThanOrEqual(20_000)
    }))

  test("sees a change late on a slow watch", ({ faults }) =>
    Effect.gen(function* () {
      const rule = faults.on({ verb: "watch", kind: ConfigMap }, Faults.delayed("5 seconds", "10 seconds"))
      yield* create()
      const millis = yield* taken(copied())
      expect(millis).toBeGreaterThanOrEqual(5000)
      expect(millis).toBeLessThan(11_000)
      rule.remove()
      yield* create("two")
      expect(yield* taken(copied("two"))).toBeLessThan(1000)
    }))

  test("gets the events of a slow watch together, and in their order", ({ faults }) =>
    Effect.gen(function* () {
      faults.on({ verb: "watch", kind: ConfigMap }, Faults.delayed("1 second", "3 seconds"))
      const millis = yield* taken(
        Effect.gen(function* () {
          for (let index = 0; index < 20; index++) yield* create(`many-${index}`)
          for (let index = 0; index < 20; index++) yield* copied(`many-${index}`)
        })
      )
      expect(millis).toBeLessThan(5000)
    }))

  for (const [what, end] of [
    ["ended", ({ faults }: Harness.Cluster) => faults.endWatches({ kind: ConfigMap })],
    ["broken", ({ faults }: Harness.Cluster) => faults.breakWatches({ kind: ConfigMap })]
  ] as const) {
    test(`resumes an ${what} watch`.replace("an b", "a b"), (cluster) =>
      Effect.gen(function* () {
        yield* create()
        yield* copied()
        expect(yield* end(cluster)).toBe(1)
        yield* Client.patch(ConfigMap, key, Patch.merge({ data: { text: "second" } }))
        yield* copied("one", "second")
      })
    )
  }

  test("lists again when its watch has expired", ({ faults }) =>
    Effect.gen(function* () {
      yield* create()
      yield* copied()
      const watch = faults.on({ verb: "watch", kind: ConfigMap }, Faults.expired, { times: 1 })
      const list = faults.on({ verb: "list", kind: ConfigMap }, Faults.delayed("1 second"))
      yield* faults.endWatches({ kind: ConfigMap })
      yield* create("two")
      yield* copied("two")
      expect([watch.hits(), list.hits()]).toEqual([1, 1])
    }))

  test("waits while its list is held", ({ faults }) =>
    Effect.gen(function* () {
      const held = faults.on({ verb: ["list", "watch"], kind: ConfigMap }, Faults.held)
      yield* faults.breakWatches({ kind: ConfigMap })
      yield* create()
      yield* TestClock.adjust("10 seconds")
      expect(EffectResult.isFailure(yield* Effect.result(Client.get(Secret, key)))).toBe(true)
      held.remove()
      yield* copied()
    }))
})

describe("A fault", () => {
  test("hits only the requests that its rule names, and not the test's client", ({ faults }) =>
    Effect.gen(function* () {
      const rule = faults.on({ verb: "patch", kind: Secret, name: "two", namespace: "default" }, Faults.unavailable)
      yield* create()
      yield* copied()
      expect(rule.hits()).toBe(0)
      yield* create("two")
      yield* eventually("the fault", Client.get(Namespace, { name: "default" }), () => rule.hits() > 0)
      faults.clear()
      yield* copied("two")
    }))

  test("by chance hits the same requests with the same seed", () =>
    Effect.gen(function* () {
      const hitsOf = (seed: number) => {
        const hits: Array<number> = []
        return Effect.as(
          Harness.run({ seed, manager: Manager.launch([copy]) }, ({ faults }) =>
            Effect.gen(function* () {
              const rule = faults.on({ verb: "patch" }, Faults.conflict, { chance: 0.5 })
              for (let index = 0; index < 10; index++) {
                yield* create(`c-${index}`)
                yield* copied(`c-${index}`)
                hits.push(rule.hits())
              }
            })
          ),
          hits
        )
      }
      const [first, again, other] = [yield* hitsOf(3), yield* hitsOf(3), yield* hitsOf(4)]
      expect(again).toEqual(first)
      expect(other).not.toEqual(first)
      expect(first.at(-1)).toBeGreaterThan(2)
    }))

  test("answers with an error of the test", (cluster) =>
    Effect.gen(function* () {
      const faults = Faults.make()
      const client = faults.over(cluster.transport).pipe((transport) => Layer.provide(Client.layer(), transport))
      const listed = () => Effect.flip(Effect.provide(Client.list(Secret), client))
      faults.on({ verb: "list", kind: Secret }, Faults.answer(403), { times: 1 })
      expect(yield* listed()).toMatchObject({ _tag: "Forbidden", message: expect.stringContaining("Forbidden") })
      faults.on({ verb: "list", kind: Secret }, Faults.answer(422, { message: "the list is immutable" }))
      expect(yield* listed()).toMatchObject({
        _tag: "Invalid",
        message: expect.stringContaining("the list is immutable")
      })
    }))

  test("keeps the answer until the test removes its rule, and the write is done", ({ faults }) =>
    Effect.gen(function* () {
      const rule = faults.on({ verb: "patch", kind: Secret }, Faults.unanswered, { times: 1 })
      yield* create()
      yield* copied()
      const reconciled = faults.record({ verb: "patch", kind: Secret })
      yield* Client.patch(ConfigMap, key, Patch.merge({ data: { text: "second" } }))
      yield* TestClock.adjust("5 seconds")
      expect([rule.hits(), reconciled.length]).toEqual([1, 0])
      rule.remove()
      yield* copied("one", "second")
    }))

  test("decides about a held request when the hold ends", ({ faults }) =>
    Effect.gen(function* () {
      const held = faults.on({ verb: "patch", kind: Secret }, Faults.held, { times: 1 })
      const refused = faults.on({ verb: "patch", kind: Secret }, Faults.unavailable, { times: 1 })
      yield* create()
      yield* TestClock.adjust("5 seconds")
      expect([held.hits(), refused.hits()]).toEqual([1, 0])
      held.remove()
      yield* copied()
      expect(refused.hits()).toBe(1)
    }))

  test("hits a path without an object", (cluster) =>
    Effect.gen(function* () {
      const faults = Faults.make()
      const transport = Context.get(yield* Layer.build(faults.over(cluster.transport)), Transport.Transport)
      const rule = faults.on({ path: "/readyz" }, Faults.answer(500))
      const get = (path: string) =>
        transport.send({ method: "GET", path, template: path, headers: {}, repeatable: true })
      expect([(yield* get("/readyz?verbose=1")).status, (yield* get("/livez")).status]).toEqual([500, 200])
      expect(rule.hits()).toBe(1)
    }))
})

describe("The faults", () => {
  test("record the requests of the manager, also rejected ones, and not those of the test", ({ faults }) =>
    Effect.gen(function* () {
      const [all, writes] = [faults.record(), faults.record({ verb: "patch", kind: Secret })]
      faults.on({ verb: "patch", kind: Secret }, Faults.unavailable, { times: 1 })
      yield* create()
      yield* copied()
      expect(writes).toHaveLength(2)
      expect(writes[0]).toMatchObject({
        verb: "patch",
        path: "/api/v1/namespaces/default/secrets/one",
        headers: { "content-type": "application/apply-patch+yaml" },
        body: { kind: "Secret", data: { text: Buffer.from("first").toString("base64") } }
      })
      expect(writes[0]?.query.get("fieldManager")).toBe("copy")
      expect(all.length).toBeGreaterThan(2)
      expect(all.filter(({ path, verb }) => verb === "create" && path.endsWith("/configmaps"))).toEqual([])
    }))

  test("count the open watches", ({ faults }) =>
    Effect.gen(function* () {
      yield* create()
      yield* copied()
      expect([faults.watches(), faults.watches({ kind: ConfigMap })]).toEqual([2, 1])
      const held = faults.on({ verb: "watch", kind: ConfigMap }, Faults.held)
      yield* faults.endWatches({ kind: ConfigMap })
      yield* TestClock.adjust("5 seconds")
      expect(faults.watches({ kind: ConfigMap })).toBe(0)
      held.remove()
      yield* TestClock.adjust("5 seconds")
      expect(faults.watches({ kind: ConfigMap })).toBe(1)
    }))
})
