/** Finalizers: a clean-up runs until it succeeds, once, and leaves other finalizers. */
import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import * as Controller from "@homeostat/runtime/controller/Controller"
import * as Result from "@homeostat/runtime/controller/Result"
import { keyOf } from "@homeostat/runtime/resource/KubernetesObject"
import { Effect, Schedule } from "effect"
import * as Managed from "../Managed.ts"
import * as Rest from "../Rest.ts"
import { Chore, create, type Place, placed, touch } from "./Chore.ts"

const ours = "suites.homeostat.dev/clean-up"
const before = "suites.homeostat.dev/of-another"
const after = "suites.homeostat.dev/of-a-third"

/** A manager whose controller notes its calls. */
const managed = (place: Place, cleanup: (object: Chore, time: number) => Effect.Effect<void, unknown, Client.Client>) =>
  Effect.gen(function* () {
    const diary: Array<string> = []
    let times = 0
    const controller = Controller.make("chores", {
      for: Chore,
      retry: Schedule.spaced("100 millis"),
      finalizer: {
        name: ours,
        cleanup: (object) =>
          Effect.suspend(() => {
            diary.push("clean up")
            return cleanup(object, ++times)
          })
      },
      reconcile: ({ metadata }) =>
        Effect.sync(() => {
          diary.push(metadata.deletionTimestamp === undefined ? "reconcile" : "reconcile a deleted object")
          return Result.done
        })
    })
    const manager = yield* Managed.start(place.cluster, [controller], { namespaces: [place.namespace] })
    return { diary, manager }
  })

const chore = (place: Place) => Client.get(Chore, { namespace: place.namespace, name: "sweep" })

const finalizers = (place: Place) => Effect.map(chore(place), ({ metadata }) => metadata.finalizers ?? [])

const isGone = (place: Place) =>
  chore(place).pipe(
    Effect.as(false),
    Effect.catchTag("NotFound", () => Effect.succeed(true))
  )

const yes = (value: boolean) => value

describe.concurrent("A finalizer", () => {
  placed("keeps an object until its clean-up has succeeded, which is retried", (place) =>
    Effect.gen(function* () {
      const { diary } = yield* managed(place, (_, time) => (time <= 3 ? Effect.fail("not yet") : Effect.void))
      const chore = yield* create(place, "sweep")
      yield* Managed.eventually("our entry", finalizers(place), (list) => list.includes(ours))
      yield* Managed.eventually(
        "a reconcile",
        Effect.sync(() => diary),
        (all) => all.includes("reconcile")
      )
      yield* Client.delete(Chore, keyOf(chore))
      yield* Managed.eventually("its removal", isGone(place), yes)
      expect(diary.slice(diary.indexOf("clean up"))).toEqual(["clean up", "clean up", "clean up", "clean up"])
    })
  )

  placed("is added before the first reconcile", (place) =>
    Effect.gen(function* () {
      const seen: Array<ReadonlyArray<string>> = []
      const controller = Controller.make("chores", {
        for: Chore,
        finalizer: { name: ours, cleanup: () => Effect.void },
        reconcile: (object) =>
          Effect.gen(function* () {
            const live = yield* Client.get(Chore, keyOf(object))
            seen.push(live.metadata.finalizers ?? [])
            return Result.done
          })
      })
      yield* Managed.start(place.cluster, [controller], { namespaces: [place.namespace] })
      yield* create(place, "sweep", { finalizers: [before] })
      yield* Managed.eventually(
        "a reconcile",
        Effect.sync(() => seen),
        ({ length }) => length > 0
      )
      expect(seen[0]).toEqual([before, ours])
    })
  )

  placed("runs once, and removes only its own entry", (place) =>
    Effect.gen(function* () {
      const { diary, manager } = yield* managed(place, () => Effect.void)
      const { metadata } = yield* create(place, "sweep", { finalizers: [before, ours, after] })
      yield* Client.delete(Chore, metadata)
      yield* Managed.eventually("the removal of our entry", finalizers(place), (list) => !list.includes(ours))
      expect(yield* finalizers(place)).toEqual([before, after])
      for (const text of ["a", "b", "c"]) yield* touch(metadata, text)
      yield* Rest.of(manager)
      expect(yield* finalizers(place)).toEqual([before, after])
      expect(diary.filter((line) => line === "clean up")).toHaveLength(1)
      yield* Client.patch(Chore, metadata, Patch.merge({ metadata: { finalizers: [] } }))
      yield* Managed.eventually("its removal", isGone(place), yes)
    })
  )

  placed("that failed to remove its entry retries the removal without the clean-up", (place) =>
    Effect.gen(function* () {
      // Another controller removes its entry meanwhile, so that the index of ours changes.
      const { diary } = yield* managed(place, (object) =>
        Client.patch(Chore, keyOf(object), Patch.json([{ op: "remove", path: "/metadata/finalizers/0" }]))
      )
      const { metadata } = yield* create(place, "sweep", { finalizers: [before, ours, after] })
      yield* Client.delete(Chore, metadata)
      yield* Managed.eventually("the removal of our entry", finalizers(place), (list) => list.join() === after)
      expect(diary.filter((line) => line === "clean up")).toHaveLength(1)
    })
  )
})
