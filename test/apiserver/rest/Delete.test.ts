import { describe, expect } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { ask, make, merge, thing, things } from "../http/Client.fixture.ts"
import * as Json from "../model/Json.ts"

const metadata = (body: Json.JsonObject) => Json.object(body.metadata)

describe("Delete", () => {
  effect("removes an object at once and returns its last state", () =>
    Effect.gen(function* () {
      const server = yield* make()
      const made = yield* ask(server, "POST", things, thing("a"))
      const { body, status } = yield* ask(server, "DELETE", `${things}/a`)
      expect(status).toBe(200)
      expect(body).toEqual({
        kind: "Status",
        apiVersion: "v1",
        metadata: {},
        status: "Success",
        details: { name: "a", group: "probe.io", kind: "things", uid: metadata(made.body).uid ?? null }
      })
      expect((yield* ask(server, "DELETE", `${things}/a`)).status).toBe(404)
    })
  )

  effect("waits for finalizers, and ends when the last one is removed", () =>
    Effect.gen(function* () {
      const server = yield* make()
      yield* ask(server, "POST", things, thing("a", {}, { finalizers: ["x.io/y"] }))
      const first = yield* ask(server, "DELETE", `${things}/a`)
      expect(metadata(first.body)).toMatchObject({ deletionGracePeriodSeconds: 0, generation: 2 })
      yield* TestClock.adjust("1 minute")
      expect((yield* ask(server, "DELETE", `${things}/a`)).text).toBe(first.text)
      const again = yield* ask(server, "POST", things, thing("a"))
      expect(again.body.message).toBe('object is being deleted: things.probe.io "a" already exists')
      const added = yield* merge(server, `${things}/a`, { metadata: { finalizers: ["x.io/y", "x.io/z"] } })
      expect(added.body.message).toContain('found new finalizers []string{"x.io/z"}')
      expect((yield* merge(server, `${things}/a`, { metadata: { finalizers: [] } })).status).toBe(200)
      expect((yield* ask(server, "GET", `${things}/a`)).status).toBe(404)
    })
  )

  const policies: ReadonlyArray<
    readonly [asked: Json.JsonObject, finalizers: ReadonlyArray<string> | "gone", status: number]
  > = [
    [{ propagationPolicy: "Foreground" }, ["foregroundDeletion"], 200],
    [{ propagationPolicy: "Orphan" }, ["orphan"], 200],
    [{ propagationPolicy: "Background" }, "gone", 200],
    [{ orphanDependents: true }, ["orphan"], 200],
    [{ orphanDependents: false }, "gone", 200]
  ]
  for (const [asked, finalizers, status] of policies) {
    effect(`with ${JSON.stringify(asked)} leaves ${JSON.stringify(finalizers)}`, () =>
      Effect.gen(function* () {
        const server = yield* make()
        yield* ask(server, "POST", things, thing("a"))
        expect((yield* ask(server, "DELETE", `${things}/a`, asked)).status).toBe(status)
        const { body } = yield* ask(server, "GET", `${things}/a`)
        expect(body.code === 404 ? "gone" : Json.list(metadata(body).finalizers)).toEqual(finalizers)
      })
    )
  }

  effect("gives a running pod its grace period, which can only be shortened", () =>
    Effect.gen(function* () {
      const server = yield* make()
      const pods = "/api/v1/namespaces/default/pods"
      const containers = [{ name: "c", image: "i" }]
      yield* TestClock.setTime(Date.parse("2026-11-20T10:00:00Z"))
      yield* ask(server, "POST", pods, { metadata: { name: "a" }, spec: { containers, nodeName: "n" } })
      const end = (asked: Json.JsonObject) =>
        Effect.map(ask(server, "DELETE", `${pods}/a`, asked), ({ body }) => [
          metadata(body).deletionTimestamp,
          metadata(body).deletionGracePeriodSeconds
        ])
      expect(yield* end({})).toEqual(["2026-11-20T10:00:30Z", 30])
      expect(yield* end({ gracePeriodSeconds: 60 })).toEqual(["2026-11-20T10:00:30Z", 30])
      expect(yield* end({ gracePeriodSeconds: 10 })).toEqual(["2026-11-20T10:00:10Z", 10])
      yield* TestClock.adjust("1 minute")
      expect(yield* end({ gracePeriodSeconds: 5 })).toEqual(["2026-11-20T10:01:00Z", 1])
      expect((yield* ask(server, "GET", `${pods}/a`)).status).toBe(200)
      yield* end({ gracePeriodSeconds: 0 })
      expect((yield* ask(server, "GET", `${pods}/a`)).status).toBe(404)
    })
  )

  effect("with the same grace period again changes nothing, even after the period", () =>
    Effect.gen(function* () {
      const server = yield* make()
      const pods = "/api/v1/namespaces/default/pods"
      const containers = [{ name: "c", image: "i" }]
      yield* ask(server, "POST", pods, { metadata: { name: "a" }, spec: { containers, nodeName: "n" } })
      const end = ask(server, "DELETE", `${pods}/a`, { gracePeriodSeconds: 10 })
      const first = yield* end
      const before = server.store.revision
      yield* TestClock.adjust("1 minute")
      expect((yield* end).text).toBe(first.text)
      expect(server.store.revision).toBe(before)
    })
  )

  effect("with another UID or resourceVersion is rejected and changes nothing", () =>
    Effect.gen(function* () {
      const server = yield* make()
      const { body } = yield* ask(server, "POST", things, thing("a"))
      const { resourceVersion = "", uid = "" } = metadata(body)
      const before = server.store.revision
      for (const [preconditions, words] of [
        [{ uid: "other" }, "the UID in the precondition (other) does not match"],
        [{ uid, resourceVersion: "1" }, "the ResourceVersion in the precondition (1) does not match"]
      ] as const) {
        const refused = yield* ask(server, "DELETE", `${things}/a`, { preconditions })
        expect(refused.body).toMatchObject({ code: 409, reason: "Conflict", message: expect.stringContaining(words) })
      }
      expect(server.store.revision).toBe(before)
      const preconditions = { uid, resourceVersion }
      expect((yield* ask(server, "DELETE", `${things}/a`, { preconditions })).status).toBe(200)
      expect((yield* ask(server, "GET", `${things}/a`)).status).toBe(404)
    })
  )

  effect("of a collection deletes the selected objects", () =>
    Effect.gen(function* () {
      const server = yield* make()
      for (const [name, app] of [
        ["a", "x"],
        ["b", "x"],
        ["c", "y"]
      ] as const) {
        yield* ask(server, "POST", things, thing(name, {}, { labels: { app } }))
      }
      const { body } = yield* ask(server, "DELETE", `${things}?labelSelector=app%3Dx`)
      expect(Json.objects(body.items).map(({ metadata }) => Json.at(metadata, "name"))).toEqual(["a", "b"])
      const left = yield* ask(server, "GET", things)
      expect(Json.objects(left.body.items).map(({ metadata }) => Json.at(metadata, "name"))).toEqual(["c"])
    })
  )

  effect("removes a namespace when its content is gone and its finalizer is removed", () =>
    Effect.gen(function* () {
      const server = yield* make()
      yield* ask(server, "POST", "/api/v1/namespaces", { metadata: { name: "x" } })
      const { body } = yield* ask(server, "DELETE", "/api/v1/namespaces/x")
      expect(Json.at(body, "status", "phase")).toBe("Terminating")
      const inside = yield* ask(server, "POST", "/api/v1/namespaces/x/configmaps", { metadata: { name: "a" } })
      expect(inside.body).toMatchObject({
        code: 403,
        details: { causes: [{ reason: "NamespaceTerminating", field: "metadata.namespace" }] }
      })
      const finalized = yield* ask(server, "PUT", "/api/v1/namespaces/x/finalize", { ...body, spec: {} })
      expect(finalized.status).toBe(200)
      expect((yield* ask(server, "GET", "/api/v1/namespaces/x")).status).toBe(404)
    })
  )
})
