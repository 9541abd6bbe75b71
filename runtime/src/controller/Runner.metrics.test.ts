/** The metrics page of the manager includes a controller's own metrics only while the controller leads. */
import { describe, expect } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import * as Fence from "../client/Fence.ts"
import * as Metric from "../telemetry/Metric.ts"
import * as Metrics from "../telemetry/Metrics.ts"
import { reading } from "../telemetry/Reading.fixture.ts"
import * as Controller from "./Controller.ts"
import * as Result from "./Result.ts"
import * as Runner from "./Runner.ts"
import { type Services, settle, Widget, widget, withWorld } from "./World.fixture.ts"

const size = Metric.gauge("test_widget_size", "What a Widget's spec says.", ["name"])
const looks = Metric.counter("test_looks_total", "Looks at Widgets.")

/** A test with its own registry, and a controller that passes its objects to a metric. */
const measured = (
  body: (controller: {
    readonly seen: () => { readonly [series: string]: number }
    readonly runner: Runner.Prepared<Controller.Services>
  }) => Effect.Effect<void, unknown, Services | Scope.Scope>
) =>
  withWorld(({ server }) =>
    Effect.gen(function* () {
      server.put(Widget, widget("a", 3))
      server.put(Widget, widget("b", 4))
      const registry = Metrics.make()
      const metrics = Metrics.once(({ counter, gauge }) => ({ looks: counter(looks, {}), gauge }))
      const controller = Controller.make("widgets", {
        for: Widget,
        reconcile: ({ metadata, spec }) =>
          Effect.gen(function* () {
            const { gauge, looks } = yield* metrics
            looks.add()
            gauge(size, { name: metadata.name }).set(spec.size)
            // The reconcile of one object never ends.
            return metadata.name === "a" ? Result.done : yield* Effect.never
          })
      })
      yield* Effect.gen(function* () {
        const runner = yield* Runner.prepare(controller, { gracePeriod: 0 })
        yield* body({ seen: () => reading(registry, "test_"), runner })
      }).pipe(Effect.provideService(Metrics.Metrics, registry))
    })
  )

const all = { test_looks_total: 2, 'test_widget_size{name="a"}': 3, 'test_widget_size{name="b"}': 4 }

/** Starts a term on a fiber. */
const lead = (runner: Runner.Prepared<Controller.Services>) =>
  Effect.gen(function* () {
    const stop = yield* Deferred.make<void>()
    const fiber = yield* Effect.forkScoped(runner.lead(Fence.open, Deferred.await(stop)))
    yield* settle
    return { fiber, stop: Effect.andThen(Deferred.succeed(stop, undefined), settle) }
  })

describe("The metrics of reconciles", () => {
  effect(
    "are in the registry of their manager after the first reconcile",
    measured(({ runner, seen }) =>
      Effect.gen(function* () {
        expect(seen()).toEqual({})
        yield* lead(runner)
        expect(seen()).toEqual(all)
      })
    )
  )

  effect(
    "are removed when the controller stops, and start again when it leads again",
    measured(({ runner, seen }) =>
      Effect.gen(function* () {
        const first = yield* lead(runner)
        yield* first.stop
        expect(seen()).toEqual({})
        yield* lead(runner)
        expect(seen()).toEqual(all)
      })
    )
  )

  effect(
    "are removed when leadership is lost",
    measured(({ runner, seen }) =>
      Effect.gen(function* () {
        const { fiber } = yield* lead(runner)
        yield* Fiber.interrupt(fiber)
        expect(seen()).toEqual({})
      })
    )
  )
})
