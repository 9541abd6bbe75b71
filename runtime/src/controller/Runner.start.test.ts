import { describe, expect } from "bun:test"
import * as Faults from "@homeostat/testkit/Faults"
import { effect } from "@homeostat/testkit/Test"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import * as Scope from "effect/Scope"
import { ConfigMap, Secret } from "../resource/BuiltIn.ts"
import * as Controller from "./Controller.ts"
import * as Result from "./Result.ts"
import * as RunnerFixture from "./Runner.fixture.ts"
import type * as Runner from "./Runner.ts"
import * as Trigger from "./Trigger.ts"
import { closable, counted, ended, pass, settle, Widget, widget, withWorld } from "./World.fixture.ts"

const done = () => counted(() => Effect.succeed(Result.done))

const start = <R>(controller: Controller.Controller<R>, settings?: Runner.Settings) =>
  Effect.tap(RunnerFixture.start(controller, { gracePeriod: 0, ...settings }), () => settle)

describe("The first pass", () => {
  effect(
    "starts after all first lists, so that the first run of an object has all triggers",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        for (const name of ["a", "b"]) server.put(Widget, widget(name))
        server.put(ConfigMap, { metadata: { name: "config" } })
        server.put(Secret, { metadata: { name: "secret" } })
        const wakes = (name: string) => ({ map: () => [{ namespace: "default", name }] })
        const held = server.faults.on({ verb: ["get", "list"], kind: Secret }, Faults.held)
        yield* start(
          Controller.make("widgets", {
            for: Widget,
            watches: [Trigger.on(ConfigMap, wakes("a")), Trigger.on(Secret, wakes("a"))],
            reconcile: () => Effect.succeed(Result.done)
          })
        )
        yield* pass("1 second")
        expect(attempts).toEqual([])
        held.remove()
        yield* settle
        expect(attempts.map(({ key, triggers }) => [key, triggers.map(({ source }) => source?.kind).sort()])).toEqual([
          ["default/a", ["ConfigMap", "Secret", "Widget"]],
          ["default/b", ["Widget"]]
        ])
      })
    )
  )
})

describe("A first list without an answer", () => {
  effect(
    "is retried, and delays only its own controller",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const hung = server.faults.on({ verb: "list", kind: Secret }, Faults.held, { times: 4 })
        const [stuck, fine] = [done(), done()]
        yield* start(Controller.make("stuck", { for: Widget, owns: [Secret], reconcile: stuck.reconcile }))
        yield* start(Controller.make("fine", { for: Widget, reconcile: fine.reconcile }))
        yield* pass("2 minutes")
        expect([stuck.names(), fine.names()]).toEqual([[], ["a"]])
        // The pending lists stay without a response; the server responds to the next one.
        expect(hung.hits()).toBe(4)
        yield* pass("1 minute")
        expect([stuck.names(), fine.names()]).toEqual([["a"], ["a"]])
      })
    )
  )

  effect(
    "does not delay the shutdown",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.faults.on({ verb: ["get", "list"] }, Faults.held)
        const { close, scope } = yield* closable
        const controller = Controller.make("widgets", { for: Widget, owns: [Secret], reconcile: done().reconcile })
        yield* Scope.provide(start(controller, { gracePeriod: "30 seconds" }), scope)
        const closing = yield* close
        yield* settle
        expect(yield* ended(closing)).toBe(true)
      })
    )
  )
})

describe("A controller", () => {
  effect(
    "can be started again, and starts without state",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const { reconcile, times } = done()
        const controller = Controller.make("widgets", { for: Widget, reconcile })
        for (const before of [0, 1]) {
          const { close, scope } = yield* closable
          yield* Scope.provide(start(controller), scope)
          expect(times()).toHaveLength(before + 1)
          const closing = yield* close
          yield* settle
          expect(yield* ended(closing)).toBe(true)
          server.change(Widget, "a", { spec: { size: 2 + before } })
          yield* pass("1 minute")
          expect(times()).toHaveLength(before + 1)
        }
      })
    )
  )
})

describe("An infinite grace period", () => {
  effect(
    "waits for a reconcile as long as it takes",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const { close, scope } = yield* closable
        const reconcile = () => Effect.as(Effect.sleep("2 minutes"), Result.done)
        const controller = Controller.make("widgets", { for: Widget, reconcile, timeout: "1 hour" })
        yield* Scope.provide(start(controller, { gracePeriod: Duration.infinity }), scope)
        const closing = yield* close
        yield* pass("1 minute")
        expect(yield* ended(closing)).toBe(false)
        yield* pass("1 minute")
        expect(yield* ended(closing)).toBe(true)
        expect(attempts.map(({ outcome }) => outcome._tag)).toEqual(["Done"])
      })
    )
  )
})

describe("Workers", () => {
  /** The number of fibers of a controller without objects, and the largest number of its concurrent reconciles. */
  const burden = (concurrency: number, objects: number) =>
    Effect.gen(function* () {
      let atOnce = 0
      let most = 0
      let rest = 0
      yield* withWorld(({ server }) =>
        Effect.gen(function* () {
          let alive = 0
          const counter: Metric.FiberRuntimeMetricsService = {
            recordFiberStart: () => void alive++,
            recordFiberEnd: () => void alive--
          }
          const reconcile = () =>
            Effect.sync(() => {
              atOnce++
              most = Math.max(most, atOnce)
            }).pipe(
              Effect.andThen(Effect.sleep("1 second")),
              Effect.ensuring(Effect.sync(() => void atOnce--)),
              Effect.as(Result.done)
            )
          const controller = Controller.make("widgets", { for: Widget, concurrency, reconcile })
          yield* Effect.provideService(start(controller), Metric.FiberRuntimeMetrics, counter)
          rest = alive
          for (let at = 0; at < objects; at++) server.put(Widget, widget(`w${at}`))
          yield* pass("10 seconds")
        })
      )()
      return { rest, most }
    })

  effect("start on demand: an idle controller has one", () =>
    Effect.gen(function* () {
      const [few, many] = [yield* burden(2, 0), yield* burden(50, 0)]
      expect(many.rest).toBe(few.rest)
    })
  )

  effect("are limited by the concurrency and the number of objects", () =>
    Effect.gen(function* () {
      expect((yield* burden(5, 12)).most).toBe(5)
      expect((yield* burden(5, 3)).most).toBe(3)
      expect((yield* burden(1, 3)).most).toBe(1)
    })
  )
})
