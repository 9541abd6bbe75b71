/** The WebApp controller in the harness, in virtual time. */
import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import * as Controller from "@homeostat/runtime/controller/Controller"
import * as Owned from "@homeostat/runtime/controller/Owned"
import * as Manager from "@homeostat/runtime/manager/Manager"
import * as Rbac from "@homeostat/runtime/manager/Rbac"
import { ConfigMap, Deployment, Pod, ResourceQuota } from "@homeostat/runtime/resource/BuiltIn"
import * as Crd from "@homeostat/runtime/resource/Crd"
import { eventually, NotSo, stays } from "@homeostat/testkit/Eventually"
import * as Harness from "@homeostat/testkit/Harness"
import { effect, live } from "@homeostat/testkit/Test"
import { controller } from "@homeostat/webapp"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Clock, Console, Data, Effect } from "effect"
import { TestClock } from "effect/testing"

class Quota extends Data.TaggedError("Quota")<{ readonly message: string }> {}

const options: Harness.Options<never> = { crds: [Crd.of(WebApp)], manager: Manager.launch([controller]) }
const test = Harness.make(options)
const restricted = Harness.make({ ...options, as: Rbac.of([controller]) })

const key = { namespace: "default", name: "shop" }

const launch = Effect.gen(function* () {
  yield* Client.create(WebApp, { metadata: key, spec: { image: "registry.test/web:1", replicas: 3 } })
  return yield* eventually("it runs", Client.get(WebApp, key), ({ status }) => status?.phase === "Running")
})

test("a WebApp runs within a second of virtual time", () =>
  Effect.gen(function* () {
    const { status } = yield* launch
    expect(status?.readyReplicas).toBe(3)
    expect((yield* Client.list(Pod, { namespace: "default" })).items).toHaveLength(3)
    expect(yield* Clock.currentTimeMillis).toBeLessThan(1000)
  }))

test("the controller recreates a deleted child", () =>
  Effect.gen(function* () {
    yield* launch
    const { metadata } = yield* Client.get(Deployment, key)
    yield* Client.delete(Deployment, key)
    const again = yield* eventually(
      "another Deployment",
      Client.get(Deployment, key),
      (deployment) => deployment.metadata.uid !== metadata.uid
    )
    expect(again.spec?.replicas).toBe(3)
  }))

restricted("a manager with the generated roles runs a WebApp, and recreates a deleted child", ({ as }) =>
  Effect.gen(function* () {
    yield* launch
    yield* Client.delete(Deployment, key)
    yield* eventually("another Deployment", Client.get(Deployment, key), () => true)
    const manager = as({ name: "system:serviceaccount:default:manager", groups: [] })
    const refused = yield* Effect.flip(
      Effect.provide(Client.list(ResourceQuota, { namespace: "default" }), manager.client)
    )
    expect(refused.message).toContain(
      'cannot list resource "resourcequotas" in API group "" in the namespace "default"'
    )
  })
)

test("a manager without roles cannot list its kind", ({ as }) =>
  Effect.gen(function* () {
    const { client } = as({ name: "ann", groups: ["devs"] })
    const refused = yield* Effect.flip(Effect.provide(Client.list(WebApp), client))
    expect(refused._tag).toBe("Forbidden")
    expect(refused.message).toContain('User "ann" cannot list resource "webapps"')
  }))

test("an hour of virtual time changes nothing", ({ server }) =>
  Effect.gen(function* () {
    yield* launch
    yield* stays("the WebApp", Client.get(WebApp, key))
    const { revision } = server.store
    yield* TestClock.adjust("1 hour")
    expect(server.store.revision).toBe(revision)
  }))

test("ten minutes of virtual time without work take less than 100 ms of CPU time", () =>
  Effect.gen(function* () {
    yield* launch
    yield* TestClock.adjust("1 minute")
    const times: Array<number> = []
    // Other programs on the machine also lengthen CPU time, so the shortest of some rounds counts.
    for (let round = 0; round < 5; round++) {
      const before = process.cpuUsage()
      yield* TestClock.adjust("10 minutes")
      const { system, user } = process.cpuUsage(before)
      times.push((system + user) / 1000)
    }
    expect(Math.min(...times)).toBeLessThan(100)
  }))

test("a finalizer of a test may sleep", () =>
  Effect.gen(function* () {
    yield* Effect.addFinalizer(() => Effect.sleep("1 minute"))
  }))

/** A controller that succeeds once, and then fails. */
const failing = Controller.make("webapp", {
  for: WebApp,
  owns: [ConfigMap],
  reconcile: (app) =>
    Owned.apply(app, ConfigMap, { metadata: { name: "page" } }).pipe(
      Effect.andThen(Effect.fail(new Quota({ message: "the quota is used up" })))
    )
})

describe("A failure:", () => {
  const failure = <A, E>(look: Effect.Effect<A, E, Client.Client>, manager: Harness.Options<never>["manager"]) =>
    Harness.run({ crds: [Crd.of(WebApp)], manager }, () =>
      Effect.gen(function* () {
        for (const name of ["shop", "other"]) {
          yield* Client.create(WebApp, { metadata: { ...key, name }, spec: { image: "registry.test/web:1" } })
        }
        return yield* Effect.flip(eventually("it is gone", look, () => false, "3 seconds"))
      })
    )

  live("eventually reports the last value once, and then the last attempts of the object", () =>
    Effect.gen(function* () {
      const error = yield* failure(Client.get(WebApp, key), Manager.launch([failing]))
      const [value = "", attempts = ""] = error.message.split("\n\n")
      expect(value).toStartWith("it is gone: not so after 3s; the last seen was {")
      expect(value.match(/"image": "registry.test\/web:1"/g)).toHaveLength(1)
      expect(attempts.split("\n")).toEqual([
        "Last attempts of WebApp default/shop (controller webapp):",
        "  00:00:02Z  just now  failed ×9  0ms  a retry after a failure  since 00:00:00Z; the quota is used up",
        "  00:00:00Z  3s ago    failed     0ms  it was created           the quota is used up; created ConfigMap page"
      ])
      // The output shows the message and the enumerable properties of an error.
      expect(Object.keys(error)).toEqual(["_tag"])
    })
  )

  for (const [what, look] of [
    ["the owner of the object", Client.get(ConfigMap, { ...key, name: "page" })],
    [
      "each object in a list",
      Effect.map(Client.list(WebApp), ({ items }) => items.filter(({ metadata }) => metadata.name === "shop"))
    ],
    ["an object that does not exist", Client.get(Deployment, key)]
  ] as const) {
    live(`eventually reports the attempts of ${what}`, () =>
      Effect.gen(function* () {
        const { attempts } = yield* failure<unknown, unknown>(look, Manager.launch([failing]))
        expect(attempts.match(/Last attempts of .*/g)).toEqual([
          "Last attempts of WebApp default/shop (controller webapp):"
        ])
      })
    )
  }

  live("eventually reports the attempts of all objects if the value is not an object", () =>
    Effect.gen(function* () {
      const { attempts } = yield* failure(Effect.succeed(3), Manager.launch([failing]))
      expect(attempts.match(/Last attempts of .*/g)?.toSorted()).toEqual([
        "Last attempts of WebApp default/other (controller webapp):",
        "Last attempts of WebApp default/shop (controller webapp):"
      ])
    })
  )

  live("eventually reports only the last value without a controller", () =>
    Effect.gen(function* () {
      const { attempts, message } = yield* failure(Effect.succeed(3), Effect.void)
      expect([attempts, message]).toEqual(["", "it is gone: not so after 3s; the last seen was 3"])
    })
  )
})

for (const [what, call, message] of [
  [
    "stays with its arguments in another order",
    () => Reflect.apply(stays, undefined, [Client.get(WebApp, key), "the WebApp"]),
    "the first argument is not a description: call stays(description, look, duration)"
  ],
  [
    "stays with a value in place of the Effect",
    () => Reflect.apply(stays, undefined, ["the WebApp", "2 seconds", Client.get(WebApp, key)]),
    "the second argument is not an Effect: call stays(description, look, duration)"
  ],
  [
    "eventually with a promise",
    () => Reflect.apply(eventually, undefined, ["the WebApp", Promise.resolve(1), () => true]),
    "the second argument is not an Effect: call eventually(description, look, wanted)"
  ],
  [
    "eventually without its predicate",
    () => Reflect.apply(eventually, undefined, ["the WebApp", Client.get(WebApp, key), "2 seconds"]),
    "the third argument is not a function: call eventually(description, look, wanted)"
  ]
] as const) {
  live(`${what} reports the wrong argument`, () => Effect.sync(() => expect(call).toThrow(new TypeError(message))))
}

test("stays reports the last attempts, too", () =>
  Effect.gen(function* () {
    yield* launch
    yield* Effect.forkChild(
      Effect.andThen(Effect.sleep("1 second"), Client.patch(WebApp, key, Patch.merge({ spec: { replicas: 1 } })))
    )
    const error = yield* Effect.flip(stays("the WebApp", Client.get(WebApp, key)))
    expect(error instanceof NotSo && error.attempts).toStartWith(
      "Last attempts of WebApp default/shop (controller webapp):"
    )
  }))

live("the output has each warning of the API server once", () =>
  Effect.gen(function* () {
    const lines: Array<unknown> = []
    const quiet: Console.Console = {
      ...(yield* Console.Console),
      warn: (...words) => void lines.push(words.join(" "))
    }
    const definition = Crd.of(WebApp)
    const [version] = definition.spec.versions
    const deprecated = { ...version, deprecated: true, deprecationWarning: "WebApps are a thing of the past" }
    const crd = { ...definition, spec: { ...definition.spec, versions: [deprecated] } }
    const run = Harness.run({ ...options, crds: [crd] }, () => Effect.andThen(Client.list(WebApp), launch))
    yield* Effect.provideService(Effect.andThen(run, run), Console.Console, quiet)
    expect(lines).toEqual(["Warning: WebApps are a thing of the past"])
  })
)

effect("two runs with one seed are identical", () =>
  Effect.gen(function* () {
    const course = Harness.run(options, ({ server }) =>
      Effect.gen(function* () {
        yield* launch
        yield* Client.patch(WebApp, key, Patch.merge({ spec: { image: "registry.test/web:2" } }))
        yield* TestClock.adjust("5 seconds")
        return JSON.stringify(server.saved(), null, 1).split("\n")
      })
    )
    const [first, second] = [yield* course, yield* course]
    expect(first.length).toBeGreaterThan(1000)
    const different = first.findIndex((line, at) => line !== second[at])
    expect([first[different], second[different]]).toEqual([undefined, undefined])
    expect(second).toHaveLength(first.length)
  })
)
