import { describe, expect } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import * as Store from "../cache/Store.ts"
import * as Transform from "../cache/Transform.ts"
import * as Fence from "../client/Fence.ts"
import * as Backoff from "../queue/Backoff.ts"
import * as WorkQueue from "../queue/WorkQueue.ts"
import type { KubernetesObject } from "../resource/KubernetesObject.ts"
import * as ObjectState from "../resource/ObjectState.ts"
import * as WallClock from "../resource/WallClock.fixture.ts"
import * as Metrics from "../telemetry/Metrics.ts"
import { reading } from "../telemetry/Reading.fixture.ts"
import * as Recording from "../telemetry/Recording.ts"
import { attempt, exchange } from "./Attempt.fixture.ts"
import type { Attempt } from "./Attempt.ts"
import * as Controller from "./Controller.ts"
import * as ControllerMetrics from "./ControllerMetrics.ts"
import * as OwnWrites from "./OwnWrites.ts"
import * as Result from "./Result.ts"
import * as RunnerFixture from "./Runner.fixture.ts"
import * as Runner from "./Runner.ts"
import * as Status from "./Status.ts"
import { TerminalError } from "./TerminalError.ts"
import type { TriggerEvent } from "./Trigger.ts"
import { counted, pass, run, settle, unreachable, Widget, widget, withWorld } from "./World.fixture.ts"

const own = (name: string) => `controller_runtime_${name}{controller="widgets"}`
const total = (result: string) => `controller_runtime_reconcile_total{controller="widgets",result="${result}"}`
const queued = (name: string) => `workqueue_${name}{name="widgets",controller="widgets"}`
const depth = (priority: string | number) =>
  `workqueue_depth{name="widgets",controller="widgets",priority="${priority}"}`

/** Reconciled objects; none by default. */
const objects = (store: Store.Store = Store.make()) => ({ resource: Widget, store })

/** A Widget with this condition Ready. */
const ready = (name: string, status: string): KubernetesObject & { readonly status: object } => ({
  metadata: { name, namespace: "default", uid: name, resourceVersion: "1", creationTimestamp: "2026-11-21T09:00:00Z" },
  status: { conditions: [{ type: "Ready", status, reason: "No", message: "" }] }
})

/** A test with its own registry. */
const metered = (body: (registry: Metrics.Registry) => ReturnType<typeof withWorld>) => () => {
  const registry = Metrics.make()
  return Effect.provideService(body(registry)(), Metrics.Metrics, registry)
}

const once = { retry: Schedule.recurs(0) }

describe("A reconcile is counted", () => {
  const outcomes: ReadonlyArray<readonly [string, () => Effect.Effect<Result.Result, unknown>, object]> = [
    ["as a success if it is done", () => Effect.succeed(Result.done), { [total("success")]: 1 }],
    ["as a requeue", () => Effect.succeed(Result.requeue), { [total("requeue")]: 1 }],
    ["as a requeue_after", () => Effect.succeed(Result.requeueAfter("1 hour")), { [total("requeue_after")]: 1 }],
    [
      "as an error if it failed",
      () => Effect.fail("no luck"),
      { [total("error")]: 1, [own("reconcile_errors_total")]: 1 }
    ],
    [
      // Two errors, because the runtime retries an object without delay after its first unanswered request.
      "as an error if no server answered",
      () => Effect.fail(unreachable),
      { [total("error")]: 2, [own("reconcile_errors_total")]: 2 }
    ],
    [
      "as an error and a terminal error if it failed permanently",
      () => Effect.fail(new TerminalError({ message: "never" })),
      {
        [total("error")]: 1,
        [own("reconcile_errors_total")]: 1,
        [own("terminal_reconcile_errors_total")]: 1
      }
    ],
    [
      "as an error and a panic if it died",
      () => Effect.die("boom"),
      { [total("error")]: 1, [own("reconcile_errors_total")]: 1, [own("reconcile_panics_total")]: 1 }
    ],
    [
      "as an error and a timeout if it took too long",
      () => Effect.never,
      { [total("error")]: 1, [own("reconcile_errors_total")]: 1, [own("reconcile_timeouts_total")]: 1 }
    ]
  ]

  for (const [name, reconcile, expected] of outcomes) {
    effect(
      name,
      metered((registry) =>
        withWorld(({ attempts, server }) =>
          Effect.gen(function* () {
            server.put(Widget, widget("a"))
            yield* run({ ...once, timeout: "2 seconds", reconcile })
            while (attempts.length === 0) yield* pass("1 second")
            yield* settle
            const seen = reading(registry, "controller_runtime_")
            const counters = Object.entries(seen).filter(([name, value]) => name.includes("_total") && value !== 0)
            expect(Object.fromEntries(counters)).toEqual({ ...expected })
            expect(seen[own("reconcile_time_seconds_count")]).toBe(attempts.length)
          })
        )
      )
    )
  }

  effect(
    "with its duration, independent of the wall clock",
    metered((registry) =>
      withWorld(({ server }) =>
        Effect.gen(function* () {
          const wall = yield* WallClock.make
          server.put(Widget, widget("a"))
          const reconcile = () => Effect.delay(Effect.succeed(Result.done), "3 seconds")
          const controller = Controller.make("widgets", { for: Widget, reconcile })
          const runner = yield* Effect.provideService(
            RunnerFixture.start(controller, { gracePeriod: 0 }),
            Clock.Clock,
            wall.clock
          )
          yield* runner.started
          yield* pass("1 second")
          wall.set(-3_600_000)
          yield* pass("2 seconds")
          expect(reading(registry)[own("reconcile_time_seconds_sum")]).toBe(3)
        })
      )
    )
  )

  effect(
    "with its duration",
    metered((registry) =>
      withWorld(({ server }) =>
        Effect.gen(function* () {
          server.put(Widget, widget("a"))
          yield* run({ reconcile: () => Effect.delay(Effect.succeed(Result.done), "3 seconds") })
          yield* pass("3 seconds")
          const seen = reading(registry)
          expect(seen[own("reconcile_time_seconds_sum")]).toBe(3)
          expect(seen[queued("work_duration_seconds_sum")]).toBe(3)
        })
      )
    )
  )
})

describe("The metrics of a queue contain", () => {
  effect(
    "its depth by priority, and the active keys",
    metered((registry) =>
      withWorld(({ server }) =>
        Effect.gen(function* () {
          for (const name of ["a", "b", "c"]) server.put(Widget, widget(name))
          const { reconcile } = counted(() => Effect.delay(Effect.succeed(Result.done), "4 seconds"))
          yield* run({ concurrency: 1, reconcile })
          yield* pass("1 second")
          const during = reading(registry)
          expect(during[own("max_concurrent_reconciles")]).toBe(1)
          expect(during[own("active_workers")]).toBe(1)
          expect(during[depth(WorkQueue.low)]).toBe(2)
          expect(during[depth(0)]).toBe(0)
          expect(during[queued("adds_total")]).toBe(3)
          expect(during[queued("unfinished_work_seconds")]).toBe(1)
          expect(during[queued("longest_running_processor_seconds")]).toBe(1)
          yield* pass("20 seconds")
          const after = reading(registry)
          expect(after[own("active_workers")]).toBe(0)
          expect(after[depth(WorkQueue.low)]).toBe(0)
          expect(after[queued("unfinished_work_seconds")]).toBe(0)
          // The second run waited for the first, and the third run for both.
          expect(after[queued("queue_duration_seconds_sum")]).toBe(12)
          expect(after[queued("queue_duration_seconds_count")]).toBe(3)
        })
      )
    )
  )

  effect(
    "the number of retries",
    metered((registry) =>
      withWorld(({ server }) =>
        Effect.gen(function* () {
          server.put(Widget, widget("a"))
          yield* run({ retry: Schedule.spaced("1 second"), reconcile: () => Effect.fail("no luck") })
          yield* pass("3500 millis")
          expect(reading(registry)[queued("retries_total")]).toBe(4)
        })
      )
    )
  )

  effect("values until its end, with or without earlier reads, and none afterwards", () =>
    Effect.gen(function* () {
      const registry = Metrics.make()
      const { follow } = yield* Effect.provideService(
        ControllerMetrics.make("widgets", 1, OwnWrites.make()),
        Metrics.Metrics,
        registry
      )
      const queue = yield* WorkQueue.make<TriggerEvent>()
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* follow(queue, yield* Backoff.make(Backoff.default), objects())
          for (const key of ["a", "b"]) queue.add(key, { kind: "resync", at: 0 })
          // A run that never ends, although the term ends.
          yield* queue.take
        })
      )
      const seen = reading(registry)
      expect(seen[queued("adds_total")]).toBe(2)
      expect(seen[own("active_workers")]).toBe(0)
      expect(seen[depth(0)]).toBe(0)
    })
  )

  effect("the objects by their state, and none on a standby", () =>
    Effect.gen(function* () {
      const registry = Metrics.make()
      const queue = yield* WorkQueue.make<TriggerEvent>()
      const { follow } = yield* Effect.provideService(
        ControllerMetrics.make("widgets", 1, OwnWrites.make()),
        Metrics.Metrics,
        registry
      )
      const counts = () => {
        const read = reading(registry, "homeostat_objects")
        return ObjectState.all.map((state) => read[`homeostat_objects{controller="widgets",state="${state}"}`])
      }
      expect(counts()).toEqual([0, 0, 0, 0, 0, 0])
      const store = Store.make()
      for (const [at, status] of (["True", "True", "False", "Unknown"] as const).entries())
        store.set(`default/${at}`, ready(`${at}`, status))
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* follow(queue, yield* Backoff.make(Backoff.default), objects(store))
          expect(counts()).toEqual([2, 0, 1, 0, 0, 1])
          store.set("default/0", ready("0", "False"))
          store.delete("default/1")
          expect(counts()).toEqual([0, 0, 2, 0, 0, 1])
          // Too large for the cache, and therefore not reconciled.
          store.set("default/2", Transform.existence(ready("2", "True")))
          store.set("default/3", Transform.crowded(ready("3", "True"), 10_000))
          expect(counts()).toEqual([0, 0, 3, 0, 0, 0])
        })
      )
      expect(counts()).toEqual([0, 0, 0, 0, 0, 0])
    })
  )

  effect("a limited number of priorities", () =>
    Effect.gen(function* () {
      const registry = Metrics.make()
      const queue = yield* WorkQueue.make<TriggerEvent>()
      const { follow } = yield* Effect.provideService(
        ControllerMetrics.make("widgets", 1, OwnWrites.make()),
        Metrics.Metrics,
        registry
      )
      yield* follow(queue, yield* Backoff.make(Backoff.default), objects())
      for (let priority = 1; priority <= 40; priority++) {
        queue.add(`key-${priority}`, { kind: "resync", at: 0 }, { priority })
      }
      const seen = Object.entries(reading(registry, "workqueue_depth"))
      expect(seen).toHaveLength(26)
      expect(seen.reduce((sum, [, value]) => sum + value, 0)).toBe(40)
      expect(reading(registry)[depth("exceeded_cardinality_limit")]).toBe(16)
    })
  )
})

describe("Freshness", () => {
  const freshness = (what: string) => `homeostat_freshness_${what}_seconds`
  const count = (what: string) => `${freshness(what)}_count{controller="widgets"}`
  const sum = (what: string) => `${freshness(what)}_sum{controller="widgets"}`

  effect(
    "is the delay from a change to the start and end of its reconcile, also for changes during another run",
    metered((registry) =>
      withWorld(({ server }) =>
        Effect.gen(function* () {
          server.put(Widget, widget("a"))
          yield* run({ concurrency: 1, reconcile: () => Effect.delay(Effect.succeed(Result.done), "3 seconds") })
          yield* pass("10 seconds")
          // The counter ignores objects that existed at the start.
          expect(reading(registry)[count("finished")]).toBe(0)
          server.change(Widget, "a", { spec: { size: 2 } })
          yield* pass("1 second")
          server.change(Widget, "a", { spec: { size: 3 } })
          yield* pass("10 seconds")
          const seen = reading(registry)
          expect([seen[count("started")], seen[sum("started")]]).toEqual([2, 0 + 2])
          expect([seen[count("finished")], seen[sum("finished")]]).toEqual([2, 3 + 5])
          expect(seen[count("seen")]).toBe(0)
        })
      )
    )
  )

  effect(
    "is the delay to the event of the own write, which does not count as a change",
    metered((registry) =>
      withWorld(({ attempts, server }) =>
        Effect.gen(function* () {
          server.put(Widget, widget("a"))
          const reconcile = (owner: Widget) =>
            Effect.as(Effect.delay(Status.update(owner, { seen: owner.spec.size }), "1 second"), Result.done)
          yield* run({ reconcile })
          yield* pass("10 seconds")
          const before = reading(registry)
          expect([before[count("started")], before[count("seen")]]).toEqual([0, 0])
          server.change(Widget, "a", { spec: { size: 2 } })
          yield* pass("10 seconds")
          // The status of the previous run triggered the last run, which is not counted.
          expect(attempts.at(-1)?.triggers.map(({ kind }) => kind)).toEqual(["watch.modified"])
          expect(attempts.slice(-2).map(({ exchanges }) => exchanges.length)).toEqual([1, 0])
          const seen = reading(registry)
          expect([seen[count("started")], seen[count("finished")], seen[count("seen")]]).toEqual([1, 1, 1])
          expect(seen[sum("seen")]).toBe(1)
        })
      )
    )
  )

  const event = (at: number, resourceVersion = "7"): TriggerEvent => ({
    kind: "watch.modified",
    source: { kind: "Widget", key: "default/a", uid: "u", resourceVersion },
    at
  })
  const patched = (after: string, changed: boolean | undefined = true) =>
    exchange({
      startedAt: 5000,
      write: {
        kind: "Widget",
        uid: "u",
        verb: "patch",
        subresource: undefined,
        fieldManager: "w",
        before: "1",
        after,
        changed
      }
    })

  /** Observes attempts one after the other, and returns the values of the registry. */
  const observed = (...attempts: ReadonlyArray<Partial<Attempt>>) =>
    Effect.gen(function* () {
      const registry = Metrics.make()
      const make = ControllerMetrics.make("widgets", 1, OwnWrites.make())
      const { observe } = yield* Effect.provideService(make, Metrics.Metrics, registry)
      for (const over of attempts) {
        yield* observe(attempt({ key: "default/a", queuedAt: 2000, startedAt: 5000, finishedAt: 6000, ...over }))
      }
      return registry
    })

  effect("is that of the oldest change that is not an own write", () =>
    Effect.gen(function* () {
      const triggers: ReadonlyArray<TriggerEvent> = [
        { ...event(0), kind: "startup" },
        { kind: "resync", at: 500 },
        event(1000, "8"),
        event(4000),
        event(3000)
      ]
      const seen = reading(yield* observed({ exchanges: [patched("8")] }, { triggers }))
      expect([seen[count("started")], seen[sum("started")], seen[sum("finished")]]).toEqual([1, 2, 3])
    })
  )

  effect("includes writes of the same controller for another object", () =>
    Effect.gen(function* () {
      const seen = reading(
        yield* observed({ key: "default/b", exchanges: [patched("8")] }, { triggers: [event(1000, "8")] })
      )
      expect([seen[count("started")], seen[sum("started")]]).toEqual([1, 4])
    })
  )

  effect("starts when the key was ready if older changes were dropped", () =>
    Effect.gen(function* () {
      const seen = reading(yield* observed({ triggers: [event(4000)], dropped: 1 }))
      expect(seen[sum("started")]).toBe(3)
    })
  )

  effect("is never negative, even if the clock is set back", () =>
    Effect.gen(function* () {
      const seen = reading(yield* observed({ triggers: [event(9000)] }))
      expect([seen[count("started")], seen[sum("started")], seen[sum("finished")]]).toEqual([1, 0, 0])
    })
  )

  effect("of writes is measured once per changed object, when both the answer and the event have arrived", () =>
    Effect.gen(function* () {
      const exchanges = [patched("8"), patched("7", false), patched("9", undefined)]
      const first = { triggers: [event(3000)], exchanges }
      // The responses arrived at 5001. The event of version 8 arrived earlier, the other events later.
      const echoes = { triggers: [event(4000, "8"), event(8000, "7"), event(8000, "9")] }
      const seen = reading(yield* observed(first, echoes, echoes))
      expect([seen[count("seen")], seen[sum("seen")]]).toEqual([2, 2.001 + 5])
    })
  )

  const exemplars = (registry: Metrics.Registry) =>
    Object.fromEntries(
      registry.read().flatMap(({ metric, series }) =>
        series.flatMap((each) => {
          const found = "counts" in each ? (each.exemplars ?? []).filter((exemplar) => exemplar !== undefined) : []
          return found.map(({ at, traceId, value }) => [metric.name, { at, traceId, value }] as const)
        })
      )
    )

  for (const exported of [true, false]) {
    effect(
      `and the duration of a reconcile have an exemplar with its trace${exported ? "" : ", unless the trace is not exported"}`,
      () =>
        Effect.gen(function* () {
          const root = Recording.root("reconcile widgets", { traceId: "t".repeat(32), startTime: 0n })
          root.recording.exported = exported
          const registry = yield* observed(
            { root, triggers: [event(3000)], exchanges: [patched("8")] },
            { triggers: [event(8000, "8")] }
          )
          const { traceId } = root
          expect(exemplars(registry)).toEqual(
            exported
              ? {
                  controller_runtime_reconcile_time_seconds: { traceId, value: 1, at: 6000 },
                  [freshness("started")]: { traceId, value: 2, at: 6000 },
                  [freshness("finished")]: { traceId, value: 3, at: 6000 },
                  [freshness("seen")]: { traceId, value: 5, at: 8000 }
                }
              : {}
          )
        })
    )
  }
})

describe("The metrics of the back-off contain", () => {
  const backoff = (what: string) => `homeostat_backoff_${what}{controller="widgets"}`

  effect(
    "the number of objects, the most attempts and the longest delay, until the objects recover",
    metered((registry) =>
      withWorld(({ server }) =>
        Effect.gen(function* () {
          for (const name of ["a", "b", "c"]) server.put(Widget, widget(name))
          yield* run({
            retry: Schedule.addDelay(Schedule.forever, ({ attempt }) => Effect.succeed(Duration.seconds(attempt))),
            reconcile: ({ metadata, spec }) =>
              metadata.name === "c" || spec.size > 1 ? Effect.succeed(Result.done) : Effect.fail("no luck")
          })
          yield* pass("3500 millis")
          const during = reading(registry)
          expect([during[backoff("objects")], during[backoff("attempts")], during[backoff("delay_seconds")]]).toEqual([
            2, 3, 3
          ])
          for (const name of ["a", "b"]) server.change(Widget, name, { spec: { size: 2 } })
          yield* pass("1 second")
          const after = reading(registry)
          expect([after[backoff("objects")], after[backoff("attempts")], after[backoff("delay_seconds")]]).toEqual([
            0, 0, 0
          ])
        })
      )
    )
  )
})

describe("The metrics of a controller", () => {
  const prepared = (reconcile: () => Effect.Effect<Result.Result, never>) =>
    Runner.prepare(Controller.make("widgets", { for: Widget, reconcile }), { gracePeriod: 0 })

  effect(
    "exist before it leads, at 0",
    metered((registry) =>
      withWorld(() =>
        Effect.gen(function* () {
          yield* prepared(() => Effect.succeed(Result.done))
          const seen = reading(registry)
          const names = [
            ...["success", "error", "requeue", "requeue_after"].map(total),
            ...["errors", "panics", "timeouts"].map((what) => own(`reconcile_${what}_total`)),
            ...["terminal_reconcile_errors_total", "reconcile_time_seconds_count", "active_workers"].map(own),
            ...["adds_total", "retries_total", "queue_duration_seconds_count", "work_duration_seconds_count"].map(
              queued
            ),
            ...["unfinished_work_seconds", "longest_running_processor_seconds"].map(queued),
            ...["started", "finished", "seen"].map(
              (what) => `homeostat_freshness_${what}_seconds_count{controller="widgets"}`
            ),
            ...["objects", "attempts", "delay_seconds"].map(
              (what) => `homeostat_backoff_${what}{controller="widgets"}`
            ),
            depth(0)
          ]
          expect(Object.fromEntries(names.map((name) => [name, seen[name]]))).toEqual(
            Object.fromEntries(names.map((name) => [name, 0]))
          )
        })
      )
    )
  )

  effect(
    "continue over its terms, and are idle in between",
    metered((registry) =>
      withWorld(({ server }) =>
        Effect.gen(function* () {
          for (const name of ["a", "b"]) server.put(Widget, widget(name))
          const runner = yield* prepared(() => Effect.delay(Effect.succeed(Result.done), "1 second"))
          for (const term of [1, 2]) {
            const stop = yield* Deferred.make<void>()
            const scope = yield* Scope.make()
            yield* Effect.forkIn(runner.lead(Fence.open, Deferred.await(stop)), scope)
            yield* settle
            expect(reading(registry)[own("active_workers")]).toBe(2)
            yield* pass("1 second")
            yield* Deferred.succeed(stop, undefined)
            yield* settle
            yield* Scope.close(scope, Exit.void)
            const seen = reading(registry)
            expect(seen[total("success")]).toBe(2 * term)
            expect(seen[queued("adds_total")]).toBe(2 * term)
            expect(seen[own("active_workers")]).toBe(0)
          }
        })
      )
    )
  )
})
