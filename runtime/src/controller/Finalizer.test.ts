import { describe, expect } from "bun:test"
import * as Faults from "@homeostat/testkit/Faults"
import { effect } from "@homeostat/testkit/Test"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import type { Cluster, Fields } from "../client/Cluster.fixture.ts"
import type { Finalizer } from "./Finalizer.ts"
import * as Result from "./Result.ts"
import { counted, pass, run, settle, story, Widget, widget, withWorld } from "./World.fixture.ts"

const name = "example.com/clean"

const finalizersOf = (server: Cluster) => (server.get(Widget, "a")?.metadata as Fields | undefined)?.finalizers

const held = (...finalizers: ReadonlyArray<string>) => ({ ...widget("a"), metadata: { name: "a", finalizers } })

/** A clean-up whose behavior depends on the number of its run, from 1. */
const cleaning = <E>(behave: (run: number) => ReturnType<Finalizer<Widget, E, never>["cleanup"]>) => {
  const state = { runs: 0 }
  return { state, finalizer: { name, cleanup: () => Effect.suspend(() => behave(++state.runs)) } }
}

const done = () => counted(() => Effect.succeed(Result.done))

describe("Before the deletion of an object,", () => {
  effect(
    "the finalizer is added before the first reconcile, and once",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, held("example.com/other"))
        const found: Array<unknown> = []
        const { reconcile } = counted(() =>
          Effect.as(
            Effect.sync(() => found.push(finalizersOf(server))),
            Result.done
          )
        )
        yield* run({ reconcile, finalizer: cleaning(() => Effect.void).finalizer })
        server.change(Widget, "a", { spec: { size: 2 } })
        yield* settle
        expect(found[0]).toEqual(["example.com/other", name])
        expect(found.length).toBeGreaterThan(1)
        expect(server.writes()).toHaveLength(1)
      })
    )
  )

  effect(
    "a finalizer that another manager adds at the same time is kept",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const hold = server.faults.on({ verb: "patch", kind: Widget }, Faults.held)
        yield* run({ ...done(), finalizer: cleaning(() => Effect.void).finalizer, retry: Schedule.spaced("1 second") })
        server.change(Widget, "a", { metadata: { finalizers: ["example.com/other"] } })
        hold.remove()
        yield* pass("1 second")
        expect(story(attempts)[0]).toBe("Failed +1000")
        expect(finalizersOf(server)).toEqual(["example.com/other", name])
      })
    )
  )
})

describe("After the deletion of an object was requested,", () => {
  effect(
    "the clean-up runs, the object is removed, and no reconcile gets it",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const { reconcile, runs } = done()
        const there: Array<boolean> = []
        const cleanup = () => Effect.sync(() => void there.push(server.get(Widget, "a") !== undefined))
        yield* run({ reconcile, finalizer: { name, cleanup } })
        const before = runs.length
        server.remove(Widget, "a")
        yield* settle
        expect(there).toEqual([true])
        expect(server.get(Widget, "a")).toBeUndefined()
        expect(runs).toHaveLength(before)
      })
    )
  )

  effect(
    "a failed clean-up is retried by the schedule of the controller, and the object stays until it succeeds",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(Widget, held(name))
        const { finalizer, state } = cleaning((n) => (n < 4 ? Effect.fail("not yet") : Effect.void))
        yield* run({ ...done(), finalizer, retry: Schedule.exponential("1 second") })
        server.remove(Widget, "a")
        yield* pass("6 seconds")
        expect(state.runs).toBe(3)
        expect(finalizersOf(server)).toEqual([name])
        yield* pass("1 second")
        expect(state.runs).toBe(4)
        expect(server.get(Widget, "a")).toBeUndefined()
        expect(story(attempts).slice(1, 5)).toEqual(["Failed +1000", "Failed +2000", "Failed +4000", "Done"])
      })
    )
  )

  effect(
    "a clean-up with requeueAfter is called again without counting as a failure, and the finalizer stays",
    withWorld(({ attempts, logs, server }) =>
      Effect.gen(function* () {
        server.put(Widget, held(name))
        const { finalizer, state } = cleaning((n) =>
          Effect.succeed(n < 3 ? Result.requeueAfter("4 seconds") : Result.done)
        )
        yield* run({ ...done(), finalizer })
        server.remove(Widget, "a")
        yield* pass("7 seconds")
        expect(state.runs).toBe(2)
        expect(finalizersOf(server)).toEqual([name])
        yield* pass("1 second")
        expect(state.runs).toBe(3)
        expect(server.get(Widget, "a")).toBeUndefined()
        expect(story(attempts)).toEqual(["Done", "RequeueAfter +4000", "RequeueAfter +4000", "Done", "Vanished"])
        expect(logs.filter((line) => !line.startsWith("INFO"))).toEqual([])
      })
    )
  )

  effect(
    "a clean-up with requeue is called again by the schedule of the controller",
    withWorld(({ attempts, logs, server }) =>
      Effect.gen(function* () {
        server.put(Widget, held(name))
        const { finalizer, state } = cleaning((n) => (n < 4 ? Effect.succeed(Result.requeue) : Effect.void))
        yield* run({ ...done(), finalizer, retry: Schedule.exponential("1 second") })
        server.remove(Widget, "a")
        yield* pass("7 seconds")
        expect(state.runs).toBe(4)
        expect(server.get(Widget, "a")).toBeUndefined()
        expect(story(attempts).slice(1, 5)).toEqual(["Requeue +1000", "Requeue +2000", "Requeue +4000", "Done"])
        expect(logs.filter((line) => !line.startsWith("INFO"))).toEqual([])
      })
    )
  )

  effect(
    "a waiting clean-up is called when its object changes",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, held(name))
        const { finalizer, state } = cleaning((n) =>
          Effect.succeed(n < 2 ? Result.requeueAfter("1 hour") : Result.done)
        )
        yield* run({ ...done(), finalizer })
        server.remove(Widget, "a")
        yield* settle
        expect(state.runs).toBe(1)
        server.change(Widget, "a", { metadata: { annotations: { "example.com/job": "done" } } })
        yield* settle
        expect(state.runs).toBe(2)
        expect(server.get(Widget, "a")).toBeUndefined()
      })
    )
  )

  effect(
    "a successful clean-up does not run again, even if removing the finalizer fails",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(Widget, held(name))
        const { finalizer, state } = cleaning(() => Effect.void)
        yield* run({ ...done(), finalizer, retry: Schedule.spaced("1 second") })
        server.faults.on({ verb: "patch", kind: Widget }, Faults.answer(500), { times: 2 })
        server.remove(Widget, "a")
        yield* pass("5 seconds")
        expect(story(attempts)).toEqual(["Done", "Failed +1000", "Failed +1000", "Done", "Vanished"])
        expect(state.runs).toBe(1)
        expect(server.get(Widget, "a")).toBeUndefined()
      })
    )
  )

  effect(
    "the finalizers of other managers are kept, and the clean-up runs once",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, held("example.com/first", "example.com/second", name, "example.com/last"))
        const { finalizer, state } = cleaning(() =>
          Effect.sync(() => {
            const finalizers = ["example.com/second", name, "example.com/last"]
            server.change(Widget, "a", { metadata: { finalizers } })
          })
        )
        yield* run({ ...done(), finalizer, retry: Schedule.spaced("1 second") })
        server.remove(Widget, "a")
        yield* pass("2 seconds")
        expect(finalizersOf(server)).toEqual(["example.com/second", "example.com/last"])
        server.change(Widget, "a", { metadata: { finalizers: ["example.com/last"] } })
        yield* settle
        expect(state.runs).toBe(1)
        expect(finalizersOf(server)).toEqual(["example.com/last"])
      })
    )
  )

  effect(
    "a new object with the same name gets its own clean-up, even if the old removal finds the new object",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, held(name))
        const { finalizer, state } = cleaning(() => Effect.void)
        yield* run({ ...done(), finalizer, retry: Schedule.spaced("1 second") })
        const removal = server.faults.on({ verb: "patch", kind: Widget }, Faults.held)
        server.remove(Widget, "a")
        yield* settle
        expect(state.runs).toBe(1)
        server.change(Widget, "a", { metadata: { finalizers: [] } })
        server.put(Widget, held(name))
        server.remove(Widget, "a")
        removal.remove()
        yield* pass("1 second")
        expect(state.runs).toBe(2)
        expect(server.get(Widget, "a")).toBeUndefined()
      })
    )
  )

  effect(
    "the clean-up does not run without the finalizer",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, held("example.com/other"))
        server.remove(Widget, "a")
        const { finalizer, state } = cleaning(() => Effect.void)
        const { reconcile, runs } = done()
        yield* run({ reconcile, finalizer })
        expect(state.runs).toBe(0)
        expect(runs).toEqual([])
        expect(server.writes()).toEqual([])
      })
    )
  )

  for (const own of [true, false]) {
    effect(
      `inherited finalizers of other programs are removed${own ? " with the own one" : ""}, without a failure`,
      withWorld(({ attempts, server }) =>
        Effect.gen(function* () {
          server.put(Widget, held("example.com/old", "example.com/keep", "example.com/older", ...(own ? [name] : [])))
          server.remove(Widget, "a")
          const { finalizer, state } = cleaning(() => Effect.void)
          const inheritedFinalizers = ["example.com/older", "example.com/old"]
          yield* run({ ...done(), inheritedFinalizers, ...(own ? { finalizer } : {}) })
          yield* pass("1 second")
          expect(finalizersOf(server)).toEqual(["example.com/keep"])
          expect(state.runs).toBe(own ? 1 : 0)
          expect(new Set(story(attempts))).toEqual(new Set(["RequeueAfter +10000"]))
        })
      )
    )
  }

  effect(
    "an invalid object loses its inherited finalizers, too",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.loosen(Widget)
        server.put(Widget, { ...held("example.com/old"), spec: { size: "big" } })
        server.remove(Widget, "a")
        yield* run({ ...done(), inheritedFinalizers: ["example.com/old"] })
        expect(server.get(Widget, "a")).toBeUndefined()
      })
    )
  )

  effect(
    "an invalid object stays if its clean-up needs the decoded object, and its conditions show the reason",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.loosen(Widget)
        server.put(Widget, { ...held(name), spec: { size: "big" } })
        server.remove(Widget, "a")
        const { finalizer, state } = cleaning(() => Effect.void)
        yield* run({ ...done(), finalizer })
        expect(state.runs).toBe(0)
        expect(finalizersOf(server)).toEqual([name])
        expect(JSON.stringify(server.get(Widget, "a")?.status)).toContain("InvalidSpec")
      })
    )
  )

  effect(
    "an invalid object is cleaned up in its wire form, if that is declared",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.loosen(Widget)
        server.put(Widget, { ...held("example.com/other", name), spec: { size: "big" } })
        server.remove(Widget, "a")
        const seen: Array<unknown> = []
        const cleanupInvalid = (object: object) => Effect.sync(() => void seen.push(object))
        yield* run({ ...done(), finalizer: { ...cleaning(() => Effect.void).finalizer, cleanupInvalid } })
        expect(seen).toMatchObject([{ metadata: { name: "a" }, spec: { size: "big" } }])
        expect(finalizersOf(server)).toEqual(["example.com/other"])
        expect(new Set(story(attempts))).toEqual(new Set(["RequeueAfter +10000"]))
      })
    )
  )

  effect(
    "a conflicting change of the finalizers is retried",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(Widget, held("example.com/other", name))
        const removal = server.faults.on({ verb: "patch", kind: Widget }, Faults.held)
        yield* run({ ...done(), finalizer: cleaning(() => Effect.void).finalizer, retry: Schedule.spaced("1 second") })
        server.remove(Widget, "a")
        yield* settle
        server.change(Widget, "a", { metadata: { finalizers: [name] } })
        removal.remove()
        yield* pass("1 second")
        const failures = attempts.flatMap(({ outcome }) => (outcome._tag === "Failed" ? [outcome.error] : []))
        expect(failures).toMatchObject([{ _tag: "Conflict", code: 409 }])
        expect(server.get(Widget, "a")).toBeUndefined()
      })
    )
  )
})
