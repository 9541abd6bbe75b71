import { describe, expect } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import * as TestClock from "effect/testing/TestClock"
import * as Client from "../client/Client.ts"
import type { KubernetesObject } from "../resource/KubernetesObject.ts"
import * as Cache from "./Cache.ts"
import { settle, WebApp, withServer } from "./Server.fixture.ts"
import * as Transform from "./Transform.ts"

const key = { namespace: "default", name: "a" }

const withoutLabels = Transform.of(WebApp, (object) => {
  const { labels, ...metadata } = object.metadata
  return labels === undefined ? object : { ...object, metadata }
})

/** An informer with a transform, synced. */
const informer = (transform: Transform.Transform | undefined) =>
  Effect.tap(Cache.informer(WebApp, { transform }), ({ synced }) => synced)

const labelsOf = (object: KubernetesObject | undefined) => object?.metadata.labels

const logged = (lines: Array<string>) =>
  Logger.layer([Logger.make(({ logLevel, message }) => void lines.push(`${logLevel.toUpperCase()} ${message}`))])

describe("A cache with a transform", () => {
  effect(
    "stores the transformed objects of lists, events and own writes",
    withServer([], (server) =>
      Effect.gen(function* () {
        server.put({ name: "a", labels: { app: "x" } })
        const { store, subscribe } = yield* informer(withoutLabels)
        const seen: Array<KubernetesObject> = []
        subscribe((changes) => {
          for (const { object, previous } of changes) seen.push(object, ...(previous === undefined ? [] : [previous]))
        })
        server.put({ name: "b", labels: { app: "y" } })
        yield* settle
        server.hold()
        yield* Client.create(WebApp, { metadata: { namespace: "default", name: "c", labels: { app: "z" } } })
        expect(store.list()).toHaveLength(3)
        for (const object of store.list()) expect(labelsOf(object)).toBeUndefined()
        expect(seen.length).toBeGreaterThan(1)
        for (const object of seen) expect(labelsOf(object)).toBeUndefined()
        expect(Option.map(yield* Cache.get(WebApp, key), labelsOf)).toEqual(Option.some(undefined))
      })
    )
  )

  for (const [what, apply] of [
    [
      "throws",
      () => {
        throw new Error("a mistake")
      }
    ],
    ["changes what an object is known by", ({ metadata }) => ({ metadata: { ...metadata, name: "other" } })]
  ] as const satisfies ReadonlyArray<readonly [string, Transform.Transform["apply"]]>) {
    const lines: Array<string> = []
    effect(`that ${what} stores the whole object, and logs the error once`, () =>
      withServer([], (server) =>
        Effect.gen(function* () {
          server.put({ name: "a", labels: { app: "x" } })
          const { store } = yield* informer({ resource: WebApp, apply })
          server.put({ name: "b", labels: { app: "y" } })
          yield* settle
          expect(store.list().map(labelsOf)).toEqual([{ app: "x" }, { app: "y" }])
          const errors = lines.filter((line) => line.startsWith("ERROR"))
          expect(errors).toEqual(["ERROR a listener for changes of webapps.apps.kubedojo.io, or its transform, threw"])
        })
      )().pipe(Effect.provide(logged(lines)))
    )
  }
})

describe("An object that is reduced to its existence", () => {
  const existence: Transform.Transform = { resource: WebApp, apply: Transform.existence }

  effect(
    "is read from the server",
    withServer([], (server) =>
      Effect.gen(function* () {
        server.put({ name: "a", labels: { app: "x" } })
        const { store } = yield* informer(existence)
        expect(labelsOf(store.get("default/a"))).toBeUndefined()
        expect(JSON.stringify(store.get("default/a"))?.length).toBeLessThan(300)
        expect(Option.map(yield* Cache.get(WebApp, key), labelsOf)).toEqual(Option.some({ app: "x" }))
        server.hold()
        server.remove("default/a")
        expect(yield* Cache.get(WebApp, key)).toEqual(Option.none())
        server.refuse = () => 403
        expect((yield* Effect.flip(Cache.get(WebApp, key)))._tag).toBe("Forbidden")
      })
    )
  )

  effect("is omitted from lists, with one warning in the log", () => {
    const lines: Array<string> = []
    return withServer([], (server) =>
      Effect.gen(function* () {
        server.put({ name: "a" })
        server.put({ name: "b", labels: { owned: "yes" } })
        yield* informer({
          resource: WebApp,
          apply: (object) => (labelsOf(object) === undefined ? Transform.existence(object) : object)
        })
        for (let n = 0; n < 2; n++) {
          expect((yield* Cache.list(WebApp)).items.map(({ metadata }) => metadata.name)).toEqual(["b"])
        }
        expect(lines.filter((line) => line.startsWith("WARN"))).toEqual([
          "WARN a list left out webapps.apps.kubedojo.io that no controller owns, or that are too large: the cache has whole objects only where a controller declares the kind in watches, or a transform for it"
        ])
      })
    )().pipe(Effect.provide(Layer.merge(logged(lines), Layer.empty)))
  })
})

describe("Two transforms of a kind", () => {
  const named = (name: string, apply: Transform.Transform["apply"]): Transform.Transform => ({
    resource: WebApp,
    name,
    apply
  })

  effect(
    "have an informer each, and reads return the whole object",
    withServer([], (server) =>
      Effect.gen(function* () {
        server.put({ name: "a", labels: { app: "x" } })
        server.put({ name: "b", labels: { app: "y" } })
        const first = yield* informer(named("none", Transform.existence))
        expect(yield* informer(named("none", (object) => Transform.existence(object)))).toBe(first)
        const isX = (object: KubernetesObject) => labelsOf(object)?.app === "x"
        const second = yield* informer(named("x", (object) => (isX(object) ? object : Transform.existence(object))))
        expect(first.store.list().map(labelsOf)).toEqual([undefined, undefined])
        expect(second.store.list().map(labelsOf)).toEqual([{ app: "x" }, undefined])
        const requests = server.requests.length
        expect(Option.map(yield* Cache.get(WebApp, key), labelsOf)).toEqual(Option.some({ app: "x" }))
        expect((yield* Cache.list(WebApp)).items.map(labelsOf)).toEqual([{ app: "x" }])
        expect(server.requests).toHaveLength(requests)
        yield* informer(undefined)
        expect((yield* Cache.list(WebApp)).items.map(labelsOf)).toEqual([{ app: "x" }, { app: "y" }])
      })
    )
  )

  effect(
    "are read from the synced informer if the other one is not synced",
    withServer([], (server) =>
      Effect.gen(function* () {
        server.put({ name: "a", labels: { app: "x" } })
        yield* informer(withoutLabels)
        server.refuse = () => 403
        const { synced } = yield* Cache.informer(WebApp)
        yield* settle
        expect(Option.map(yield* Cache.get(WebApp, key), labelsOf)).toEqual(Option.some(undefined))
        server.refuse = () => undefined
        yield* TestClock.adjust("1 second")
        yield* synced
        expect(Option.map(yield* Cache.get(WebApp, key), labelsOf)).toEqual(Option.some({ app: "x" }))
      })
    )
  )
})
