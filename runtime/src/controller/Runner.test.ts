import { describe, expect } from "bun:test"
import * as Faults from "@homeostat/testkit/Faults"
import { effect } from "@homeostat/testkit/Test"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import * as Cache from "../cache/Cache.ts"
import { ConfigMap, Secret } from "../resource/BuiltIn.ts"
import * as Controller from "./Controller.ts"
import * as Owned from "./Owned.ts"
import * as Result from "./Result.ts"
import * as RunnerFixture from "./Runner.fixture.ts"
import type * as Runner from "./Runner.ts"
import * as Status from "./Status.ts"
import {
  closable,
  counted,
  ended,
  pass,
  run,
  settle,
  story,
  unreachable,
  Widget,
  widget,
  withWorld
} from "./World.fixture.ts"

const child = (owner: Widget) =>
  Owned.apply(owner, ConfigMap, { metadata: { name: owner.metadata.name }, data: { a: "1" } })

const start = <R>(controller: Controller.Controller<R>, settings?: Runner.Settings) =>
  Effect.tap(RunnerFixture.start(controller, { gracePeriod: 0, ...settings }), () => settle)

describe("A controller starts", () => {
  effect(
    "when all its caches are synced, so that it does not recreate existing children",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const make = Controller.make("widgets", {
          for: Widget,
          owns: [ConfigMap],
          reconcile: (owner) => Effect.as(child(owner), Result.done)
        })
        const first = yield* closable
        yield* Scope.provide(start(make), first.scope)
        expect(server.writes().filter(({ path }) => path.includes("configmaps"))).toHaveLength(1)
        yield* Fiber.join(yield* first.close)

        const held = server.faults.on({ verb: "list", kind: ConfigMap }, Faults.held)
        const before = server.writes().length
        // The cache of another process, which is empty.
        const fresh = yield* Layer.build(Layer.fresh(Cache.layer()))
        const runner = yield* Effect.provide(start(make), fresh)
        yield* pass("10 seconds")
        expect(Option.getOrUndefined(runner.queue())?.snapshot().ready).toBe(1)
        held.remove()
        yield* runner.started
        yield* settle
        expect(Option.getOrUndefined(runner.queue())?.snapshot().ready).toBe(0)
        expect(server.writes().slice(before)).toEqual([])
      })
    )
  )

  for (const [code, word, words] of [
    [403, "forbidden", "requires permission to list and watch secrets"],
    [404, "not served", "the API server does not serve v1 Secret"]
  ] as const) {
    effect(
      `independent of another one with a kind that is ${word}, which starts when that is fixed`,
      withWorld(({ logs, server }) =>
        Effect.gen(function* () {
          server.put(Widget, widget("a"))
          const trouble = server.faults.on({ verb: ["list", "watch"], kind: Secret }, Faults.answer(code))
          const stuck = counted(() => Effect.succeed(Result.done))
          const fine = counted(() => Effect.succeed(Result.done))
          yield* start(Controller.make("stuck", { for: Widget, owns: [Secret], reconcile: stuck.reconcile }))
          yield* start(Controller.make("fine", { for: Widget, owns: [ConfigMap], reconcile: fine.reconcile }))
          expect(fine.times()).toEqual([0])
          yield* pass("5 seconds")
          expect(stuck.times()).toEqual([])
          expect(logs.filter((line) => line.startsWith("WARN") && line.includes(words))).toHaveLength(1)
          trouble.remove()
          yield* pass("10 seconds")
          expect(stuck.times()).toHaveLength(1)
          expect(fine.times()).toEqual([0])
        })
      )
    )
  }

  effect(
    "for the lifetime of the scope, not of the starting fiber",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        const { names, reconcile } = counted(() => Effect.succeed(Result.done))
        const scope = yield* Effect.scope
        yield* Fiber.join(yield* Effect.forkChild(Scope.provide(run({ reconcile }), scope)))
        server.put(Widget, widget("a"))
        yield* settle
        expect(names()).toEqual(["a"])
      })
    )
  )
})

describe("A controller that stops", () => {
  effect(
    "finishes the active reconciles, and starts no others",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        for (const name of ["a", "b"]) server.put(Widget, widget(name))
        const finished: Array<string> = []
        const { names, reconcile } = counted((_, { metadata }) =>
          Effect.sleep("200 millis").pipe(
            Effect.andThen(Effect.sync(() => void finished.push(metadata.name))),
            Effect.onInterrupt(() => Effect.sync(() => void finished.push("interrupted"))),
            Effect.as(Result.done)
          )
        )
        const { close, scope } = yield* closable
        yield* Scope.provide(run({ reconcile, concurrency: 1 }, { gracePeriod: "300 millis" }), scope)
        yield* pass("10 millis")
        const closing = yield* close
        yield* pass("150 millis")
        server.put(Widget, widget("c"))
        expect(yield* ended(closing)).toBe(false)
        yield* pass("50 millis")
        expect(yield* ended(closing)).toBe(true)
        expect(finished).toEqual(["a"])
        expect(names()).toEqual(["a"])
      })
    )
  )

  effect(
    "interrupts the remaining reconciles after the grace period, and waits for their finalizers and fibers",
    withWorld(({ attempts, logs, server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const ends: Array<string> = []
        const endless = (what: string) =>
          Effect.onInterrupt(Effect.never, () =>
            Effect.andThen(
              Effect.sleep("100 millis"),
              Effect.sync(() => void ends.push(what))
            )
          )
        const { close, scope } = yield* closable
        const reconcile = () =>
          Effect.gen(function* () {
            yield* Effect.forkChild(endless("child"))
            yield* Effect.forkScoped(endless("scoped"))
            yield* Effect.yieldNow
            return yield* endless("reconcile")
          })
        yield* Scope.provide(run({ reconcile, timeout: "1 hour" }, { gracePeriod: "100 millis" }), scope)
        const closing = yield* close
        yield* pass("90 millis")
        expect(attempts).toEqual([])
        yield* pass("200 millis")
        expect(logs).toContain("WARN Controller widgets interrupts 1 reconciles: the grace period is over")
        expect(yield* ended(closing)).toBe(false)
        yield* pass("200 millis")
        expect(yield* ended(closing)).toBe(true)
        expect(ends.sort()).toEqual(["child", "reconcile", "scoped"])
        expect(story(attempts)).toEqual(["Interrupted"])
      })
    )
  )

  effect(
    "ends at once if no reconcile is active, even if workers wait for a server",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        for (const name of ["a", "b", "c"]) server.put(Widget, widget(name))
        server.faults.on({ path: "/readyz" }, Faults.refused)
        const { close, scope } = yield* closable
        yield* Scope.provide(
          run({ reconcile: () => Effect.andThen(Effect.sleep("10 millis"), unreachable), concurrency: 2 }),
          scope
        )
        yield* pass("1 second")
        expect(attempts).toHaveLength(2)
        const closing = yield* close
        yield* settle
        expect(yield* ended(closing)).toBe(true)
      })
    )
  )

  effect(
    "ends at once if its caches never synced",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.faults.on({ verb: ["get", "list"], kind: Widget }, Faults.answer(403))
        const { close, scope } = yield* closable
        const controller = Controller.make("widgets", { for: Widget, reconcile: () => Effect.succeed(Result.done) })
        yield* Scope.provide(start(controller), scope)
        const closing = yield* close
        yield* settle
        expect(yield* ended(closing)).toBe(true)
      })
    )
  )
})

describe("An object is reconciled", () => {
  effect(
    "after a change before the initial objects",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        for (const name of ["a", "b", "c"]) server.put(Widget, widget(name))
        const { names, reconcile } = counted(() => Effect.as(Effect.sleep("1 second"), Result.done))
        yield* run({ reconcile, concurrency: 1 })
        server.put(Widget, widget("new"))
        yield* pass("10 seconds")
        expect(names()).toEqual(["a", "new", "b", "c"])
        expect(attempts.map(({ triggers }) => triggers[0]?.kind)).toEqual([
          "startup",
          "watch.added",
          "startup",
          "startup"
        ])
      })
    )
  )

  effect(
    "once in each sync period, spread over the period",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        for (let number = 0; number < 300; number++) server.put(Widget, widget(`w${number}`))
        const { reconcile, times } = counted(() => Effect.succeed(Result.done))
        yield* run({ reconcile }, { syncPeriod: "100 seconds" })
        yield* pass("0.5 seconds")
        expect(attempts).toHaveLength(300)
        yield* pass("100 seconds")
        const resynced = attempts.slice(300)
        expect(resynced.map(({ key }) => key).toSorted()).toEqual(
          attempts
            .slice(0, 300)
            .map(({ key }) => key)
            .toSorted()
        )
        expect(new Set(resynced.flatMap(({ triggers }) => triggers.map(({ kind }) => kind)))).toEqual(
          new Set(["resync"])
        )
        const bySecond = Object.values(Object.groupBy(times().slice(300), (time) => Math.round(time / 1000)))
        expect(bySecond.length).toBeGreaterThan(80)
        expect(Math.max(...bySecond.map((second) => second?.length ?? 0))).toBeLessThan(15)
      })
    )
  )

  effect(
    "after a change before the objects of the sync period",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        for (let number = 0; number < 300; number++) server.put(Widget, widget(`w${number}`))
        const { names, reconcile } = counted((n) => Effect.as(Effect.sleep(n > 300 ? "400 millis" : 0), Result.done))
        yield* run({ reconcile, concurrency: 1 }, { syncPeriod: "100 seconds" })
        yield* pass("30 seconds")
        const begun = names().length
        server.put(Widget, widget("new"))
        yield* pass("2 seconds")
        expect(names()[begun]).toBe("new")
        expect(attempts[begun - 1]?.triggers.map(({ kind }) => kind)).toEqual(["resync"])
        expect(attempts[begun + 1]?.triggers.map(({ kind }) => kind)).toEqual(["resync"])
      })
    )
  )

  effect(
    "only after a change if the sync period is 0",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const { reconcile, times } = counted(() => Effect.succeed(Result.done))
        yield* run({ reconcile }, { syncPeriod: 0 })
        yield* pass("1 minute")
        expect(times()).toEqual([0])
      })
    )
  )

  for (const part of ["request", "answer"] as const) {
    effect(
      `after a failure by its schedule, even if it writes its status each time${part === "answer" ? " and the event comes before the answer" : ""}`,
      withWorld(({ server }) =>
        Effect.gen(function* () {
          server.put(Widget, widget("a"))
          const { reconcile, times } = counted((n, owner) =>
            Effect.andThen(Status.update(owner, { seen: n }), Effect.fail("no luck"))
          )
          const held = server.faults.on(
            { verb: "patch", subresource: "status" },
            part === "answer" ? Faults.unanswered : Faults.held
          )
          yield* run({ reconcile, retry: Schedule.spaced("1 second") })
          yield* pass("500 millis")
          held.remove()
          yield* pass("3 seconds")
          expect(times()).toEqual([0, 1500, 2500, 3500])
          expect(server.get(Widget, "a")?.status).toEqual({ seen: 4 })
        })
      )
    )
  }
})
