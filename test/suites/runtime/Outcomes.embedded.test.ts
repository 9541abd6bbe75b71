/** Outcomes of reconciles. The tests of the worker cover each case in virtual time. */
import { describe, expect } from "bun:test"
import * as Controller from "@homeostat/runtime/controller/Controller"
import * as Result from "@homeostat/runtime/controller/Result"
import { TerminalError } from "@homeostat/runtime/controller/TerminalError"
import { keyOf, keyString } from "@homeostat/runtime/resource/KubernetesObject"
import { Effect, Schedule } from "effect"
import * as Managed from "../Managed.ts"
import * as Rest from "../Rest.ts"
import { Chore, change, create, type Place, placed, report, touch } from "./Chore.ts"

/** Runs a controller, and returns the times of its calls by name, in milliseconds. */
const called = (
  place: Place,
  reconcile: (object: Chore, time: number) => Effect.Effect<Result.Result, unknown>,
  options: { readonly retry?: Schedule.Schedule<unknown, unknown>; readonly workers?: number } = {}
) =>
  Effect.gen(function* () {
    const calls = new Map<string, Array<number>>()
    const controller = Controller.make("chores", {
      for: Chore,
      retry: options.retry,
      reconcile: (object) =>
        Effect.suspend(() => {
          const { name } = object.metadata
          const times = [...(calls.get(name) ?? []), performance.now()]
          calls.set(name, times)
          return reconcile(object, times.length)
        })
    })
    const settings = { namespaces: [place.namespace], workers: options.workers }
    const manager = yield* Managed.start(place.cluster, [controller], settings)
    const of = (name: string) => calls.get(name) ?? []
    return {
      of,
      attempts: manager.attempts,
      reaches: (name: string, count: number) =>
        Managed.eventually(
          `${count} reconciles of ${name}`,
          Effect.sync(() => of(name).length),
          (length) => length >= count
        ),
      /** The count of calls when the manager is idle. */
      total: (name: string) => Effect.map(Rest.of(manager), () => of(name).length)
    }
  })

describe.concurrent("A reconcile", () => {
  placed("that fails is retried by the schedule up to its end, and again after an event", (place) =>
    Effect.gen(function* () {
      const calls = yield* called(place, () => Effect.fail("no"), {
        retry: Schedule.upTo(Schedule.spaced("200 millis"), { times: 2 })
      })
      const key = keyOf(yield* create(place, "a"))
      yield* calls.reaches("a", 3)
      const [first = 0, second = 0, third = 0] = calls.of("a")
      for (const gap of [second - first, third - second]) {
        expect(gap).toBeGreaterThan(195)
      }
      expect(yield* calls.total("a")).toBe(3)
      yield* touch(key, "again")
      yield* calls.reaches("a", 6)
      expect(yield* calls.total("a")).toBe(6)
    })
  )

  placed("that fails with a permanent error is not retried until an event", (place) =>
    Effect.gen(function* () {
      const calls = yield* called(place, ({ spec }) =>
        spec.what === "impossible" ? new TerminalError({ message: "cannot be done" }) : Effect.succeed(Result.done)
      )
      const key = keyOf(yield* create(place, "a", { what: "impossible" }))
      yield* calls.reaches("a", 1)
      expect(yield* calls.total("a")).toBe(1)
      yield* change(key, "possible")
      yield* calls.reaches("a", 2)
      expect(yield* calls.total("a")).toBe(2)
    })
  )

  placed("that requests a later run gets it, or an earlier one after an event", (place) =>
    Effect.gen(function* () {
      const calls = yield* called(place, (_, time) =>
        Effect.succeed(
          time <= 2 ? Result.requeueAfter("300 millis") : time === 3 ? Result.requeueAfter("1 hours") : Result.done
        )
      )
      const key = keyOf(yield* create(place, "a"))
      yield* calls.reaches("a", 3)
      const [first = 0, second = 0, third = 0] = calls.of("a")
      expect(second - first).toBeGreaterThan(295)
      expect(third - second).toBeGreaterThan(295)
      yield* touch(key, "now")
      yield* calls.reaches("a", 4)
    })
  )

  placed("that dies is retried, and other reconciles continue", (place) =>
    Effect.gen(function* () {
      const calls = yield* called(
        place,
        ({ metadata }, time) =>
          metadata.name === "bad" && time <= 20 ? Effect.die(new Error("a mistake")) : Effect.succeed(Result.done),
        { retry: Schedule.spaced("10 millis"), workers: 1 }
      )
      yield* create(place, "bad")
      yield* create(place, "good")
      yield* calls.reaches("good", 1)
      yield* calls.reaches("bad", 21)
      expect(yield* calls.total("bad")).toBe(21)
    })
  )

  placed("of a new object does not wait for a hundred failing ones", (place) =>
    Effect.gen(function* () {
      const calls = yield* called(
        place,
        ({ metadata }) => (metadata.name === "fresh" ? Effect.succeed(Result.done) : Effect.fail("no")),
        { workers: 2 }
      )
      const failing = Array.from({ length: 100 }, (_, index) => `failing-${index}`)
      yield* Effect.forEach(failing, (name) => create(place, name), { concurrency: 8 })
      yield* Effect.forEach(failing, (name) => calls.reaches(name, 1), { concurrency: "unbounded" })
      const { metadata } = yield* create(place, "fresh")
      const fresh = yield* Managed.eventually(
        "a reconcile of the new one",
        Effect.sync(() => calls.attempts().find(({ key }) => key === keyString(metadata))),
        (attempt) => attempt !== undefined
      )
      const [queued = Number.NaN, started = Number.NaN] = [fresh?.queuedAt, fresh?.startedAt]
      // A worker may start one more key.
      expect(calls.attempts().filter(({ startedAt }) => startedAt > queued && startedAt < started).length).toBeLessThan(
        5
      )
    })
  )

  placed("that fails after a status write does not trigger itself", (place) =>
    Effect.gen(function* () {
      let calls = 0
      const controller = Controller.make("chores", {
        for: Chore,
        retry: Schedule.spaced("1 hour"),
        reconcile: (object) => Effect.andThen(report(keyOf(object), `seen ${++calls} times`), Effect.fail("not yet"))
      })
      const manager = yield* Managed.start(place.cluster, [controller], { namespaces: [place.namespace] })
      yield* create(place, "a")
      yield* Managed.eventually(
        "a reconcile",
        Effect.sync(() => calls),
        (count) => count > 0
      )
      yield* Rest.of(manager, { later: "30 minutes" })
      expect(calls).toBe(1)
    })
  )
})

describe.concurrent("A hundred changes of one object", () => {
  placed("cause few reconciles, one at a time, and the last one sees the last change", (place) =>
    Effect.gen(function* () {
      let running = 0
      let together = 0
      const seen: Array<string> = []
      const calls = yield* called(place, ({ spec }) =>
        Effect.gen(function* () {
          together = Math.max(together, ++running)
          // Takes as long as a reconcile with a few requests.
          yield* Effect.sleep("200 millis")
          running--
          seen.push(spec.what)
          return Result.done
        })
      )
      const key = keyOf(yield* create(place, "a", { what: "0" }))
      yield* calls.reaches("a", 1)
      const before = performance.now()
      for (let count = 1; count < 100; count++) yield* touch(key, `${count}`)
      yield* change(key, "last")
      const took = performance.now() - before
      yield* Managed.eventually(
        "the last change",
        Effect.sync(() => seen.at(-1)),
        (text) => text === "last"
      )
      const total = yield* calls.total("a")
      expect(together).toBe(1)
      expect(seen.at(-1)).toBe("last")
      // More than one per 200 ms would not be one at a time.
      expect(total).toBeLessThanOrEqual(Math.max(10, Math.ceil(took / 200) + 2))
    })
  )
})
