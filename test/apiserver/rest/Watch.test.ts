import { describe, expect } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import type { ApiServer } from "../http/ApiServer.ts"
import { ask, make, merge, thing, things, watch } from "../http/Client.fixture.ts"
import * as Json from "../model/Json.ts"

const seen = (events: ReadonlyArray<{ readonly type: unknown; readonly object: Json.JsonObject }> | undefined) =>
  events?.map(({ object, type }) => [type, Json.at(object, "metadata", "name")])

const definition = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.probe.io"

const version = (object: Json.JsonObject | undefined) => Number(Json.at(object, "metadata", "resourceVersion"))

describe("Watch", () => {
  effect("shows each change once, in order, with increasing versions", () =>
    Effect.gen(function* () {
      const server = yield* make()
      const { next } = yield* watch(server, `${things}?watch=true&resourceVersion=${server.store.revision}`)
      yield* ask(server, "POST", things, thing("a"))
      yield* merge(server, `${things}/a`, { spec: { color: "red" } })
      yield* merge(server, `${things}/a`, { spec: { color: "red" } })
      yield* ask(server, "DELETE", `${things}/a`)
      const events = yield* next
      expect(seen(events)).toEqual([
        ["ADDED", "a"],
        ["MODIFIED", "a"],
        ["DELETED", "a"]
      ])
      const versions = events?.map(({ object }) => version(object)) ?? []
      expect(versions).toEqual(versions.toSorted((one, other) => one - other))
      expect(new Set(versions).size).toBe(3)
    })
  )

  effect(
    "begins with the existing objects without a version, and marks their end if the request allows bookmarks",
    () =>
      Effect.gen(function* () {
        const server = yield* make()
        yield* ask(server, "POST", things, thing("a"))
        const plain = yield* watch(server, `${things}?watch=true`)
        expect(seen(yield* plain.next)).toEqual([["ADDED", "a"]])
        const list = yield* watch(
          server,
          `${things}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`
        )
        const events = yield* list.next
        expect(seen(events)).toEqual([
          ["ADDED", "a"],
          ["BOOKMARK", undefined]
        ])
        expect(events?.[1]?.object).toEqual({
          kind: "Thing",
          apiVersion: "probe.io/v1",
          metadata: {
            resourceVersion: String(server.store.revision),
            annotations: { "k8s.io/initial-events-end": "true" }
          }
        })
      })
  )

  effect("shows an object that the selector no longer matches as deleted, and a newly selected one as added", () =>
    Effect.gen(function* () {
      const server = yield* make()
      yield* ask(server, "POST", things, thing("a", {}, { labels: { app: "x" } }))
      const { next } = yield* watch(
        server,
        `${things}?watch=true&labelSelector=app%3Dx&resourceVersion=${server.store.revision}`
      )
      yield* merge(server, `${things}/a`, { metadata: { labels: { app: "y" } } })
      const [left] = (yield* next) ?? []
      expect(left?.type).toBe("DELETED")
      expect(Json.at(left?.object, "metadata", "labels", "app")).toBe("x")
      expect(version(left?.object)).toBe(server.store.revision)
      yield* merge(server, `${things}/a`, { metadata: { labels: { app: "x" } } })
      expect(seen(yield* next)).toEqual([["ADDED", "a"]])
    })
  )

  effect("with a selector does not report the changes and the deletion of an object that it never chose", () =>
    Effect.gen(function* () {
      const server = yield* make()
      yield* ask(server, "POST", things, thing("other", {}, { labels: { app: "y" } }))
      const { next } = yield* watch(
        server,
        `${things}?watch=true&labelSelector=app%3Dx&resourceVersion=${server.store.revision}`
      )
      yield* merge(server, `${things}/other`, { spec: { color: "red" } })
      yield* ask(server, "DELETE", `${things}/other`)
      yield* ask(server, "POST", things, thing("a", {}, { labels: { app: "x" } }))
      yield* ask(server, "DELETE", `${things}/a`)
      expect(seen(yield* next)).toEqual([
        ["ADDED", "a"],
        ["DELETED", "a"]
      ])
    })
  )

  effect("continues where another watch ended, without gap or repetition", () =>
    Effect.gen(function* () {
      const server = yield* make()
      const from = server.store.revision
      for (const name of ["a", "b", "c"]) yield* ask(server, "POST", things, thing(name))
      const { next } = yield* watch(server, `${things}?watch=true&resourceVersion=${from + 1}`)
      yield* ask(server, "POST", things, thing("d"))
      expect(seen(yield* next)).toEqual([
        ["ADDED", "b"],
        ["ADDED", "c"],
        ["ADDED", "d"]
      ])
    })
  )

  effect("reports that a version is too old, and ends", () =>
    Effect.gen(function* () {
      const server = yield* make()
      const { next } = yield* watch(server, `${things}?watch=true&resourceVersion=1`)
      const [event] = (yield* next) ?? []
      expect(event?.type).toBe("ERROR")
      expect(event?.object).toMatchObject({ kind: "Status", code: 410, reason: "Expired" })
      expect(Json.text(event?.object.message)).toStartWith("too old resource version: 1 (")
      expect(yield* next).toBeUndefined()
    })
  )

  effect("ends after timeoutSeconds, with a bookmark two seconds before", () =>
    Effect.gen(function* () {
      const server = yield* make()
      const { next } = yield* watch(
        server,
        `${things}?watch=true&resourceVersion=${server.store.revision}&timeoutSeconds=5&allowWatchBookmarks=true`
      )
      const first = yield* Effect.forkChild(next)
      yield* TestClock.adjust("2999 millis")
      expect(first.pollUnsafe()).toBeUndefined()
      yield* TestClock.adjust("1 millis")
      expect(seen(yield* Fiber.join(first))).toEqual([["BOOKMARK", undefined]])
      const second = yield* Effect.forkChild(next)
      yield* TestClock.adjust("1999 millis")
      expect(second.pollUnsafe()).toBeUndefined()
      yield* TestClock.adjust("1 millis")
      expect(yield* Fiber.join(second)).toBeUndefined()
    })
  )

  effect("gets a bookmark every minute, if it requests bookmarks", () =>
    Effect.gen(function* () {
      const server = yield* make()
      const from = server.store.revision
      const quiet = yield* watch(server, `${things}?watch=true&resourceVersion=${from}`)
      const shown = yield* watch(server, `${things}?watch=true&resourceVersion=${from}&allowWatchBookmarks=true`)
      const [nothing, bookmark] = [yield* Effect.forkChild(quiet.next), yield* Effect.forkChild(shown.next)]
      yield* ask(server, "POST", "/api/v1/namespaces/default/configmaps", { metadata: { name: "elsewhere" } })
      yield* TestClock.adjust("60 seconds")
      const [event] = (yield* Fiber.join(bookmark)) ?? []
      expect(version(event?.object)).toBe(server.store.revision)
      expect(nothing.pollUnsafe()).toBeUndefined()
      yield* Fiber.interrupt(nothing)
    })
  )

  effect("describes the columns of a table once, and shows ages at the moment of the read", () =>
    Effect.gen(function* () {
      const server = yield* make()
      const { next } = yield* watch(server, `${things}?watch=true&resourceVersion=${server.store.revision}`, {
        accept: "application/json;as=Table;v=v1;g=meta.k8s.io"
      })
      yield* ask(server, "POST", things, thing("a"))
      yield* ask(server, "POST", things, thing("b"))
      yield* TestClock.adjust("90 seconds")
      const [first, second] = (yield* next) ?? []
      expect(Json.objects(first?.object.columnDefinitions).map(({ name }) => name)).toEqual(["Name", "Age"])
      expect(second?.object.columnDefinitions).toBeNull()
      expect(Json.objects(first?.object.rows)[0]?.cells).toEqual(["a", "90s"])
    })
  )

  for (const [happens, change, shown] of [
    ["is deleted, with its objects", (server: ApiServer) => ask(server, "DELETE", definition), [["DELETED", "a"]]],
    [
      "changes",
      (server: ApiServer) => merge(server, definition, { spec: { names: { shortNames: ["th"] } } }),
      undefined
    ]
  ] as const) {
    effect(`ends when the definition of its kind ${happens}`, () =>
      Effect.gen(function* () {
        const server = yield* make()
        yield* ask(server, "POST", things, thing("a"))
        const { next } = yield* watch(server, `${things}?watch=true&resourceVersion=${server.store.revision}`)
        const elsewhere = yield* watch(server, `/api/v1/configmaps?watch=true&resourceVersion=${server.store.revision}`)
        const other = yield* Effect.forkChild(elsewhere.next)
        yield* change(server)
        if (shown !== undefined) expect<unknown>(seen(yield* next)).toEqual(shown)
        expect(yield* next).toBeUndefined()
        expect(other.pollUnsafe()).toBeUndefined()
        yield* Fiber.interrupt(other)
      })
    )
  }

  effect("gets no events after it is closed", () =>
    Effect.gen(function* () {
      const server = yield* make()
      const { close, next } = yield* watch(server, `${things}?watch=true&resourceVersion=${server.store.revision}`)
      const waiting = yield* Effect.forkChild(next)
      yield* Effect.yieldNow
      yield* close
      expect(yield* Fiber.join(waiting)).toBeUndefined()
      yield* ask(server, "POST", things, thing("a"))
      expect(yield* next).toBeUndefined()
    })
  )

  effect("ends for a client that is ten thousand events behind", () =>
    Effect.gen(function* () {
      const server = yield* make()
      const { next } = yield* watch(server, `/api/v1/configmaps?watch=true&resourceVersion=${server.store.revision}`)
      for (let index = 0; index <= 10_001; index++) {
        server.store.put("/configmaps", {
          metadata: { name: "x", namespace: "default" },
          data: { index: String(index) }
        })
      }
      expect((yield* next)?.length).toBe(10_000)
      expect(yield* next).toBeUndefined()
    })
  )

  effect("waits for a version that does not exist yet", () =>
    Effect.gen(function* () {
      const server = yield* make()
      const from = server.store.revision + 1
      const { next } = yield* watch(server, `${things}?watch=true&resourceVersion=${from}`)
      yield* ask(server, "POST", things, thing("a"))
      yield* ask(server, "POST", things, thing("b"))
      expect(seen(yield* next)).toEqual([["ADDED", "b"]])
    })
  )
})
