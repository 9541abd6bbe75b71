/** The cache of an optional kind, which the API server may not serve. */
import { describe, expect, test } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as TestClock from "effect/testing/TestClock"
import type * as ApiError from "../client/ApiError.ts"
import { capture } from "../controller/World.fixture.ts"
import { hindrance } from "../manager/CacheReadiness.ts"
import * as Metrics from "../telemetry/Metrics.ts"
import { reading } from "../telemetry/Reading.fixture.ts"
import * as Cache from "./Cache.ts"
import * as Reflector from "./Reflector.ts"
import { refusal } from "./Scripted.fixture.ts"
import { lines, settle, WebApp, withServer } from "./Server.fixture.ts"

const isDone = (effect: Effect.Effect<void>) =>
  Effect.map(Effect.tap(Effect.forkChild(effect), settle), (fiber) => fiber.pollUnsafe() !== undefined)

describe("An optional kind that the API server does not serve", () => {
  effect("has an empty cache, is ready, and is followed when the API server serves it", () => {
    const log: Array<string> = []
    const registry = Metrics.make()
    const served = () => reading(registry)['homeostat_optional_kind_served{kind="webapps.apps.kubedojo.io"}']
    return withServer([], (server) =>
      Effect.gen(function* () {
        server.put({ name: "a" })
        server.refuse = () => 404
        const informer = yield* Cache.informer(WebApp, { optional: true })
        const heard: Array<string> = []
        const changes: Array<boolean> = []
        informer.subscribe((changes) => heard.push(...lines(changes)))
        informer.onServed((isServed) => changes.push(isServed))
        expect(yield* isDone(informer.settled)).toBe(true)
        expect(yield* isDone((yield* Cache.Cache).synced)).toBe(true)
        expect(informer.state()).toMatchObject({ status: "absent", synced: true, problem: undefined, cause: undefined })
        expect(hindrance(informer)).toBeUndefined()
        expect((yield* (yield* Cache.Cache).list(WebApp)).items).toEqual([])
        yield* TestClock.adjust("10 minutes")
        const [looks] = [server.requests.length]
        expect(looks).toBeGreaterThan(15)
        expect(looks).toBeLessThan(30)
        expect(served()).toBe(0)
        expect(informer.state().idleMillis).toBe(0)
        expect(log).toEqual([
          "INFO webapps.apps.kubedojo.io: the API server does not serve apps.kubedojo.io/v1beta1 WebApp, and the controllers run without the kind; the manager looks for it every 30 to 45 seconds"
        ])
        server.refuse = () => undefined
        yield* TestClock.adjust("45 seconds")
        // News, as the workers run already.
        expect([heard, changes]).toEqual([["added a"], [false, true]])
        expect(informer.state()).toMatchObject({ status: "synced", synced: true })
        expect(served()).toBe(1)
        expect(log.slice(1)).toEqual(["INFO webapps.apps.kubedojo.io: recovered"])
      })
    )().pipe(Effect.provide(capture(log)), Effect.provideService(Metrics.Metrics, registry))
  })

  effect(
    "becomes empty when the definition is deleted, after the third answer",
    withServer([], (server) =>
      Effect.gen(function* () {
        server.put({ name: "a" })
        const informer = yield* Cache.informer(WebApp, { optional: true })
        yield* informer.synced
        const heard: Array<string> = []
        const changes: Array<boolean> = []
        informer.subscribe((changes) => heard.push(...lines(changes)), { existing: false })
        informer.onServed((isServed) => changes.push(isServed))
        server.refuse = () => 404
        server.endWatches()
        yield* TestClock.adjust("2 seconds")
        expect([informer.store.size(), informer.state().status]).toEqual([1, "missing"])
        yield* TestClock.adjust("8 seconds")
        expect([informer.store.size(), informer.state().status]).toEqual([0, "absent"])
        expect([heard, changes]).toEqual([["deleted a"], [false]])
        server.refuse = () => undefined
        yield* TestClock.adjust("45 seconds")
        expect([heard, changes]).toEqual([
          ["deleted a", "added a"],
          [false, true]
        ])
      })
    )
  )

  for (const code of [401, 403, 429, 500, 503]) {
    effect(
      `is not absent because of ${code}: the cache does not sync, and a synced cache keeps its objects`,
      withServer([], (server) =>
        Effect.gen(function* () {
          server.put({ name: "a" })
          server.refuse = () => code
          const informer = yield* Cache.informer(WebApp, { optional: true })
          yield* TestClock.adjust("5 minutes")
          expect(yield* isDone(informer.settled)).toBe(false)
          expect(informer.state()).toMatchObject({ status: "failing", synced: false })
          server.refuse = () => undefined
          yield* TestClock.adjust("1 minute")
          expect(informer.store.size()).toBe(1)
          server.refuse = () => code
          server.endWatches()
          yield* TestClock.adjust("5 minutes")
          expect([informer.store.size(), informer.isAbsent()]).toEqual([1, false])
        })
      )
    )
  }

  effect(
    "stays absent while the API server is unavailable later",
    withServer([], (server) =>
      Effect.gen(function* () {
        server.refuse = () => 404
        const informer = yield* Cache.informer(WebApp, { optional: true })
        yield* settle
        server.refuse = () => 503
        yield* TestClock.adjust("5 minutes")
        expect(informer.isAbsent()).toBe(true)
        expect(informer.state()).toMatchObject({ status: "failing", synced: true })
      })
    )
  )

  effect(
    "counts as missing if another user of its cache requires it",
    withServer(["one", "two"], (server) =>
      Effect.gen(function* () {
        server.refuse = () => 404
        const informer = yield* Cache.informer(WebApp, { optional: true })
        expect(yield* Cache.informer(WebApp)).toBe(informer)
        expect(yield* isDone(informer.settled)).toBe(true)
        expect(yield* isDone(informer.synced)).toBe(false)
        expect(informer.state()).toMatchObject({ status: "missing", synced: false })
        expect(Option.fromNullishOr(hindrance(informer))).toMatchObject({
          value: expect.stringContaining("install its")
        })
      })
    )
  )
})

describe("The answers in a row that a kind is not served", () => {
  const watching: Reflector.State = {
    ...Reflector.initial,
    resourceVersion: "10",
    phase: { _tag: "Asking", request: { _tag: "Resume", resourceVersion: "10" } }
  }
  const absences = (...answers: ReadonlyArray<ApiError.ApiError | "opened">) => {
    let state = watching
    const absent: Array<boolean> = []
    for (const answer of answers) {
      const input: Reflector.Input = answer === "opened" ? { _tag: "Opened" } : { _tag: "Failed", error: answer }
      ;[state] = Reflector.step(state, input, true)
      if (answer === "opened") [state] = Reflector.step(state, { _tag: "Ended", livedMillis: 0 }, true)
      ;[state] = Reflector.step(state, { _tag: "Elapsed" }, true)
      absent.push(state.isAbsent)
    }
    return absent
  }
  const unserved = refusal(404, "")

  test("do not count beyond another answer", () => {
    expect(absences(unserved, unserved, unserved)).toEqual([false, false, true])
    expect(absences(unserved, unserved, refusal(503, "ServiceUnavailable"), unserved)[3]).toBe(false)
    expect(absences(unserved, unserved, "opened", unserved)[3]).toBe(false)
  })

  test("do not include that of an object or a namespace that does not exist", () => {
    const notFound = refusal(404, "NotFound")
    expect(absences(notFound, notFound, notFound, notFound)).toEqual([false, false, false, false])
  })
})
