/** The WebApp controller in the harness, in virtual time. */
import { expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import * as Manager from "@homeostat/runtime/manager/Manager"
import * as Rbac from "@homeostat/runtime/manager/Rbac"
import { Deployment, Pod, Secret } from "@homeostat/runtime/resource/BuiltIn"
import * as Crd from "@homeostat/runtime/resource/Crd"
import { eventually, stays } from "@homeostat/testkit/Eventually"
import * as Harness from "@homeostat/testkit/Harness"
import { effect } from "@homeostat/testkit/Test"
import { controller } from "@homeostat/webapp"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Clock, Effect, Exit, TestClock } from "effect"

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
    const refused = yield* Effect.flip(Effect.provide(Client.list(Secret, { namespace: "default" }), manager.client))
    expect(refused.message).toContain('cannot list resource "secrets" in API group "" in the namespace "default"')
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

test("eventually fails with the last value", () =>
  Effect.gen(function* () {
    yield* launch
    const never = eventually("it is gone", Client.get(WebApp, key), () => false, "3 seconds")
    const exit = yield* Effect.exit(never)
    expect(Exit.isFailure(exit) && String(exit.cause)).toContain("it is gone: not so after 3s; the last seen was")
  }))

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
