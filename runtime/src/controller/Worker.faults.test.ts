import { describe, expect } from "bun:test"
import * as Faults from "@homeostat/testkit/Faults"
import { effect } from "@homeostat/testkit/Test"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Cache from "../cache/Cache.ts"
import * as ApiError from "../client/ApiError.ts"
import * as Disconnect from "../client/Disconnect.ts"
import { ConfigMap, Secret, Service } from "../resource/BuiltIn.ts"
import * as Access from "./Access.ts"
import { type Attempt, log, Observers } from "./Attempt.ts"
import * as Controller from "./Controller.ts"
import * as Owned from "./Owned.ts"
import type { Reconciliation } from "./Reconciliation.ts"
import * as Result from "./Result.ts"
import * as RunnerFixture from "./Runner.fixture.ts"
import * as Trigger from "./Trigger.ts"
import { counted, is, pass, run, settle, story, unreachable, Widget, widget, withWorld } from "./World.fixture.ts"

class Broken extends Data.TaggedError("Broken")<{ readonly message: string }> {}
const broken = new Broken({ message: "no luck" })

describe("A defect", () => {
  effect(
    "follows the schedule, is logged with its cause, and does not affect other objects",
    withWorld(({ attempts, logs, server }) =>
      Effect.gen(function* () {
        for (const name of ["bad", "good"]) server.put(Widget, widget(name))
        const { reconcile, runs } = counted((_, { metadata }) =>
          metadata.name === "bad" ? Effect.die(new Error("boom")) : Effect.succeed(Result.requeueAfter("1 second"))
        )
        yield* run({ reconcile, retry: Schedule.spaced("1 second"), concurrency: 1 })
        yield* pass("2500 millis")
        for (const name of ["bad", "good"]) {
          expect(runs.filter((each) => each.name === name).map(({ at }) => at)).toEqual([0, 1000, 2000])
        }
        expect(attempts.filter(({ outcome }) => is("Failed")(outcome) && outcome.defect)).toHaveLength(3)
        expect(logs).toContain("ERROR Reconcile died, again in 1000 ms: boom (with its stack)")
      })
    )
  )

  effect(
    "includes an exception before the Effect exists",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const reconcile = (): Effect.Effect<Result.Result> => {
          throw new Error("boom")
        }
        yield* run({ reconcile, retry: Schedule.spaced("1 second") })
        yield* pass("1 second")
        expect(story(attempts)).toEqual(["Failed +1000", "Failed +1000"])
      })
    )
  )

  effect(
    "in the controller before its reconcile fails the attempt, and the worker continues",
    withWorld(({ attempts, logs, server }) =>
      Effect.gen(function* () {
        for (const name of ["bad", "good"]) server.put(Widget, widget(name))
        const made = Controller.make("widgets", {
          for: Widget,
          retry: Schedule.spaced("1 second"),
          concurrency: 1,
          reconcile: () => Effect.succeed(Result.requeueAfter("1 second"))
        })
        const controller: typeof made = {
          ...made,
          attempt: (object) => {
            if (object.metadata.name === "bad") throw new Error("boom")
            return made.attempt(object)
          }
        }
        yield* RunnerFixture.start(controller, { gracePeriod: 0 })
        yield* pass("2500 millis")
        for (const name of ["bad", "good"]) {
          expect(attempts.filter(({ key }) => key === `default/${name}`)).toHaveLength(3)
        }
        expect(logs).toContain("ERROR Reconcile died, again in 1000 ms: boom (with its stack)")
      })
    )
  )

  effect(
    "of an observer is logged, and the worker continues",
    withWorld(({ logs, server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const { reconcile, times } = counted(() => Effect.succeed(Result.requeueAfter("1 second")))
        yield* Effect.provideService(run({ reconcile, concurrency: 1 }), Observers, [
          () => Effect.die(new Error("blind"))
        ])
        yield* pass("2 seconds")
        expect(times()).toEqual([0, 1000, 2000])
        expect(logs.filter((line) => line.includes("blind"))).toHaveLength(3)
      })
    )
  )

  effect(
    "includes an interruption from within: workers and other observers continue",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        const attempts: Array<Attempt> = []
        for (const name of ["bad", "good"]) server.put(Widget, widget(name))
        const { reconcile, runs } = counted((_, { metadata }) =>
          metadata.name === "bad" ? Effect.fail(broken) : Effect.succeed(Result.requeueAfter("1 second"))
        )
        const retry = Schedule.map(Schedule.spaced("1 second"), () => Effect.interrupt)
        const observe = (attempt: Attempt) => Effect.sync(() => void attempts.push(attempt))
        yield* Effect.provideService(run({ reconcile, retry }), Observers, [() => Effect.interrupt, observe])
        yield* pass("2 seconds")
        expect(runs.filter(({ name }) => name === "good").map(({ at }) => at)).toEqual([0, 1000, 2000])
        expect(story(attempts).toSorted()).toEqual(["Failed !", ...Array(3).fill("RequeueAfter +1000")])
      })
    )
  )
})

describe("A TooManyRequests error", () => {
  effect(
    "delays the retry by retryAfter, unless the schedule delays it longer",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const request = { method: "GET", path: "/" }
        const busy = ApiError.fromStatus(request, { kind: "Status", reason: "TooManyRequests", code: 429 }, 429, 3000)
        const { reconcile } = counted(() => Effect.fail(busy))
        yield* run({ reconcile, retry: Schedule.exponential("1 second") })
        yield* pass("9 seconds")
        expect(story(attempts)).toEqual(["Failed +3000", "Failed +3000", "Failed +4000"])
      })
    )
  )
})

describe("An attempt", () => {
  effect(
    "is interrupted at the timeout of the controller, and retried by the schedule",
    withWorld(({ attempts, logs, server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const { reconcile, times } = counted(() => Effect.never)
        yield* run({ reconcile, timeout: "5 seconds", retry: Schedule.spaced("1 second") })
        yield* pass("6 seconds")
        expect(times()).toEqual([0, 6000])
        expect(story(attempts)).toEqual(["Failed +1000"])
        expect(logs).toContain("WARN Reconcile failed, again in 1000 ms: the reconcile took longer than 5s")
      })
    )
  )

  for (const [how, body] of [
    ["timed out", Effect.never],
    ["failed", broken],
    ["succeeded", Effect.succeed(Result.done)]
  ] as const) {
    effect(
      `that has ${how} leaves no fibers and resources behind`,
      withWorld(({ attempts, server }) =>
        Effect.gen(function* () {
          server.put(Widget, widget("a"))
          const ended: Array<string> = []
          const end = (what: string) => Effect.sync(() => void ended.push(`${what} ${attempts.length}`))
          const forever = (what: string) => Effect.onExit(Effect.never, () => end(what))
          const reconcile = () =>
            Effect.gen(function* () {
              yield* Effect.acquireRelease(Effect.void, () => end("resource"))
              yield* Effect.forkChild(forever("child"))
              yield* Effect.forkScoped(forever("scoped"))
              yield* Effect.forkChild(Effect.zip(forever("grandchild"), forever("nobody"), { concurrent: true }))
              // Waits until all fibers have started.
              yield* Effect.repeat(Effect.yieldNow, { times: 10 })
              return yield* body
            })
          yield* run({ reconcile, timeout: "5 seconds", retry: Schedule.spaced("1 minute") })
          yield* pass("10 seconds")
          expect(attempts).toHaveLength(1)
          // All fibers ended before the attempt was over.
          expect(ended.sort()).toEqual(["child 0", "grandchild 0", "nobody 0", "resource 0", "scoped 0"])
        })
      )
    )
  }

  effect(
    "does not change the services of the next one, even after a timeout",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const found: Array<string> = []
        const mark = Context.Reference("test/mark", { defaultValue: () => "untouched" })
        const { reconcile } = counted((n) =>
          Effect.gen(function* () {
            found.push(yield* mark)
            yield* Effect.withFiber((fiber) =>
              Effect.sync(() => fiber.setContext(Context.add(fiber.context, mark, `set by ${n}`)))
            )
            return n === 1 ? yield* Effect.never : yield* Effect.as(Effect.sleep("1 second"), Result.done)
          })
        )
        yield* run({ reconcile, timeout: "5 seconds", concurrency: 1, retry: Schedule.spaced("1 second") })
        yield* pass("10 seconds")
        server.put(Widget, widget("b"))
        yield* pass("10 seconds")
        expect(found).toEqual(["untouched", "untouched", "untouched"])
        expect(story(attempts)).toEqual(["Failed +1000", "Done", "Done"])
      })
    )
  )

  effect(
    "runs a finalizer at once that is added to its Scope later",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const ended: Array<string> = []
        const { reconcile } = counted(() =>
          Effect.as(
            Effect.forkDetach(
              Effect.delay(
                Effect.acquireRelease(Effect.void, () => Effect.sync(() => void ended.push("released"))),
                "1 second"
              )
            ),
            Result.done
          )
        )
        yield* run({ reconcile })
        yield* pass("999 millis")
        expect(ended).toEqual([])
        yield* pass("1 millis")
        expect(ended).toEqual(["released"])
      })
    )
  )

  effect(
    "that interrupts itself fails",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const { reconcile, times } = counted(() => Effect.interrupt)
        yield* run({ reconcile, retry: Schedule.spaced("1 second") })
        yield* pass("2 seconds")
        expect(times()).toEqual([0, 1000, 2000])
        expect(story(attempts)[0]).toBe("Failed +1000")
      })
    )
  )
})

describe("An undeclared access", () => {
  const cases: ReadonlyArray<
    readonly [
      what: string,
      reconcile: (owner: Widget) => Effect.Effect<unknown, unknown, Controller.Services | Reconciliation>,
      sentence: string
    ]
  > = [
    [
      "a child",
      (owner) => Owned.apply(owner, Service, { metadata: { name: "w" } }),
      "controller widgets applies services and does not declare it: add Service to owns"
    ],
    [
      "a child that is only watched",
      (owner) => Owned.apply(owner, ConfigMap, { metadata: { name: "w" } }),
      "controller widgets applies configmaps and does not declare it: add ConfigMap to owns"
    ],
    [
      "a read of the cache",
      () => Cache.get(Secret, { namespace: "default", name: "w" }),
      "controller widgets reads secrets (v1, full) from the cache and does not declare it: add Secret to watches or owns, or read it with Client.get"
    ],
    [
      "a list from the cache by an index",
      () => Cache.list(ConfigMap, { index: { name: "by-team", value: "a" } }),
      'no index "by-team" (declare it in indexes of Controller.make or Trigger.on)'
    ]
  ]
  const watches = [Trigger.on(ConfigMap, { map: () => [] })]
  for (const [what, reconcileWith, sentence] of cases) {
    effect(
      `is a permanent error that mentions the declaration: ${what}`,
      withWorld(({ attempts, logs, server }) =>
        Effect.gen(function* () {
          server.put(Widget, widget("a"))
          const { reconcile } = counted((_, owner) => Effect.as(reconcileWith(owner), Result.done))
          yield* run({ reconcile, watches, retry: Schedule.spaced("1 second") })
          yield* pass("1 hour")
          expect(story(attempts)).toEqual(["Terminal"])
          expect(logs).toContain(`ERROR Reconcile failed permanently: ${sentence}`)
          const message = `The reconcile stopped: ${sentence}`
          expect(server.get(Widget, "a")?.status).toMatchObject({
            conditions: [
              { type: "Ready", reason: "TerminalError", message },
              { type: "Stalled", reason: "TerminalError", message }
            ]
          })
        })
      )
    )
  }

  effect(
    "does not include a child of a kind that access may create and patch",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const { reconcile } = counted((_, owner) =>
          Effect.as(Owned.apply(owner, ConfigMap, { metadata: { name: "w" } }), Result.done)
        )
        yield* run({ reconcile, watches, access: [Access.apply(ConfigMap)] })
        expect(attempts.map(({ outcome }) => outcome._tag)).toEqual(["Done"])
        expect(server.get(ConfigMap, "w")).toBeDefined()
      })
    )
  )
})

describe("While no API server answers,", () => {
  effect(
    "workers pause, and continue at once when a probe succeeds",
    withWorld(({ attempts, logs, server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        let isDown = true
        const { names, reconcile, times } = counted(() => (isDown ? unreachable : Effect.succeed(Result.done)))
        const probes = server.faults.on({ path: "/readyz" }, Faults.refused)
        yield* run({ reconcile, concurrency: 8, retry: Schedule.spaced("1 second") })
        expect(story(attempts)).toEqual(["Unreachable +0"])
        server.put(Widget, widget("b"))
        yield* pass("5 seconds")
        expect(names()).toEqual(["a"])
        expect(logs).toContain("WARN No API server answers; reconciles pause until one does")

        // The probes run at 0, 100, 300, 700, 1500, 3100 ms, and then every two seconds.
        isDown = false
        probes.remove()
        yield* pass("1 second")
        expect(names()).toEqual(["a", "b", "a"])
        expect(times()).toEqual([0, 5100, 5100])
        expect(logs).toContain("INFO The API server answers again")
      })
    )
  )

  effect(
    "retry schedules do not advance",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        for (let n = 0; n < 100; n++) server.put(Widget, widget(`w${n}`))
        let isDown = true
        const probes = server.faults.on({ path: "/readyz" }, Faults.refused)
        const { reconcile } = counted(() =>
          Effect.andThen(
            Effect.sleep("10 millis"),
            Effect.suspend(() => Effect.fail(isDown ? unreachable : broken))
          )
        )
        yield* run({ reconcile, concurrency: 100, retry: Schedule.exponential("1 second") })
        yield* pass("10 millis")
        expect(story(attempts)).toEqual(Array(100).fill("Unreachable +0"))
        isDown = false
        probes.remove()
        yield* pass("500 millis")
        expect(story(attempts.slice(100))).toEqual(Array(100).fill("Failed +1000"))
        expect(attempts.slice(100).map(({ number }) => number)).toEqual(Array(100).fill(1))
      })
    )
  )

  effect(
    "a running retry schedule continues afterwards",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const { reconcile } = counted((n) => Effect.fail(n === 3 ? unreachable : broken))
        yield* run({ reconcile, retry: Schedule.exponential("1 second") })
        yield* pass("3500 millis")
        expect(story(attempts)).toEqual(["Failed +1000", "Failed +2000", "Unreachable +0", "Failed +4000"])
      })
    )
  )

  effect(
    "an object that fails again after each successful probe backs off",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const { reconcile } = counted((n) => (n === 4 ? Effect.succeed(Result.requeue) : Effect.fail(unreachable)))
        yield* run({ reconcile, retry: Schedule.exponential("1 second") })
        yield* pass("8 seconds")
        expect(story(attempts)).toEqual([
          "Unreachable +0",
          "Unreachable +1000",
          "Unreachable +2000",
          // One reconcile succeeded, so the next failure counts as the first again.
          "Requeue +4000",
          "Unreachable +0",
          "Unreachable +8000"
        ])
      })
    )
  )
})

effect(
  "a reconcile that outlasts the retries of the client has the outcome Unreachable",
  withWorld(({ attempts, server }) =>
    Effect.gen(function* () {
      server.put(Widget, widget("a"))
      const { reconcile, times } = counted(() => Effect.as(Effect.void, Result.done))
      const outage = [{ path: "/readyz" }, { verb: "patch" as const }].map((match) =>
        server.faults.on(match, Faults.refused)
      )
      yield* run({ finalizer: { name: "example.com/clean", cleanup: () => Effect.void }, reconcile })
      yield* pass("20 seconds")
      expect(story(attempts)).toEqual(["Unreachable +0"])
      for (const rule of outage) rule.remove()
      yield* pass("2 seconds")
      expect(story(attempts)).toContain("Done")
      expect(times().length).toBeGreaterThan(0)
      yield* settle
    })
  )
)

describe("A failure that JSON does not support", () => {
  effect(
    "is handled like others, and a throwing observer does not affect the others",
    withWorld(({ logs, server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const numbers: Array<number> = []
        const circular: { self?: unknown } = {}
        circular.self = circular
        const { reconcile, runs } = counted((time) => Effect.fail(time === 1 ? circular : { size: 1n }))
        yield* Effect.provideService(run({ reconcile, retry: Schedule.spaced("1 second") }), Observers, [
          () => {
            throw new Error("watching is hard")
          },
          (attempt) => Effect.sync(() => void numbers.push(attempt.number)),
          log
        ])
        yield* pass("2500 millis")
        expect(runs.map(({ at }) => at)).toEqual([0, 1000, 2000])
        expect(numbers).toEqual([1, 2, 3])
        expect(logs.filter((line) => line.startsWith("WARN Reconcile failed"))).toHaveLength(3)
        expect(logs.filter((line) => line.includes("watching is hard"))).toHaveLength(3)
      })
    )
  )
})

describe("If the API server of another cluster does not answer,", () => {
  effect(
    "the reconciles that use it fail and follow their schedule, and other objects are reconciled",
    withWorld(({ attempts, logs, server }) =>
      Effect.gen(function* () {
        for (const name of ["far", "near"]) server.put(Widget, widget(name))
        const far = Disconnect.make({ method: "GET", path: "/api" }, "https://other.test", "ECONNREFUSED")
        const { reconcile, runs } = counted((_, { metadata }) =>
          metadata.name === "far" ? Effect.fail(far) : Effect.succeed(Result.requeueAfter("1 second"))
        )
        yield* run({ reconcile, retry: Schedule.spaced("1 second"), concurrency: 1 })
        yield* pass("2500 millis")
        for (const name of ["far", "near"]) {
          expect(runs.filter((each) => each.name === name).map(({ at }) => at)).toEqual([0, 1000, 2000])
        }
        expect(attempts.filter(({ outcome }) => is("Failed")(outcome))).toHaveLength(3)
        expect(logs.filter((line) => line.includes("API server answers"))).toEqual([])
        expect(server.requests.filter(({ path }) => path === "/readyz")).toEqual([])
      })
    )
  )
})
