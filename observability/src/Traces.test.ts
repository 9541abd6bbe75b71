import { describe, expect, test } from "bun:test"
import { type Attempt, Outcome } from "@homeostat/runtime/controller/Attempt"
import { attempt as record } from "@homeostat/runtime/controller/Attempt.fixture"
import * as Metrics from "@homeostat/runtime/telemetry/Metrics"
import * as Recording from "@homeostat/runtime/telemetry/Recording"
import { admission, answer, call } from "@homeostat/runtime/webhook/Call.fixture"
import { effect } from "@homeostat/testkit/Test"
import type { SpanExporter } from "@opentelemetry/sdk-trace"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import * as OpenTelemetry from "./OpenTelemetry.ts"
import * as TraceSettings from "./TraceSettings.ts"
import * as Traces from "./Traces.ts"

/** An attempt with this number of spans and this duration. */
const attempt = (spans: number, millis: number): Attempt => {
  const root = Recording.root("reconcile widgets", { startTime: 0n })
  for (let index = 1; index < spans; index++) root.recording.span("step", Option.some(root), 0n).end(0n, Exit.void)
  root.end(0n, Exit.void)
  return record({ root, startedAt: 0, finishedAt: millis, outcome: Outcome.Done(), generation: undefined })
}

const slow = (spans = 2) => attempt(spans, 2000)
const quiet = () => attempt(2, 1)

/** An attempt whose trace cannot be exported. */
const broken = (): Attempt =>
  Object.defineProperty(slow(), "triggers", {
    get: () => {
      throw new Error("broken")
    }
  })

/** The counts of a registry that are not 0: `traces quiet`. */
const counted = (registry: Metrics.Registry): Record<string, number> =>
  Object.fromEntries(
    registry
      .read()
      .flatMap(({ metric, series }) =>
        series.flatMap((each) =>
          "value" in each && each.value > 0
            ? [[[metric.name.replace(/^homeostat_|_total$/g, ""), ...each.labels].join(" "), each.value]]
            : []
        )
      )
  )

/** An exporter with a pipeline that keeps its spans until the test releases them. */
const exporting = (capacity: number, shutdown: () => Promise<void> = () => Promise.resolve()) =>
  Effect.gen(function* () {
    const registry = Metrics.make()
    const written: Array<Recording.Recording> = []
    const events: Array<string> = []
    let inFlight = 0
    let reports: OpenTelemetry.Reports | undefined
    const open: Traces.Open = (to) =>
      Effect.sync(() => {
        reports = to
        return {
          room: () => capacity - inFlight,
          inFlight: () => inFlight,
          write: (recording) => {
            written.push(recording)
            events.push(...recording.spans.flatMap((span) => span.events.map(({ name }) => name)))
            inFlight += recording.spans.length
          },
          shutdown
        }
      })
    const { attempts: observe, webhooks } = yield* Effect.provideService(
      Traces.exporting({ ratio: 0, parentBased: true }, open),
      Metrics.Metrics,
      registry
    )
    return {
      observe,
      webhooks,
      written,
      /** The names of all events when their recordings were written. */
      events,
      counted: () => counted(registry),
      reports: () => reports,
      arrive: () => {
        reports?.exported(inFlight)
        inFlight = 0
      }
    }
  })

/** The lines that an effect logs. */
const logged = <A, E, R>(effect: (lines: ReadonlyArray<string>) => Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    const lines: Array<string> = []
    const logger = Logger.make(({ message }) => void lines.push(String(message)))
    return Effect.provide(effect(lines), Logger.layer([logger]))
  })

describe("The trace of an attempt", () => {
  effect("waits for the full delay, even after earlier ones were handed over", () =>
    Effect.gen(function* () {
      const { observe, written } = yield* exporting(100)
      yield* observe(slow())
      yield* TestClock.adjust(Traces.handOverDelay)
      expect(written.length).toBe(1)
      yield* observe(slow())
      yield* TestClock.adjust(0)
      expect(written.length).toBe(1)
      yield* TestClock.adjust(Traces.handOverDelay)
      expect(written.length).toBe(2)
    })
  )

  effect("is exported if it is slow, and otherwise only counted", () =>
    Effect.gen(function* () {
      const { counted, observe, written } = yield* exporting(100)
      const [good, idle] = [slow(), quiet()]
      yield* Effect.andThen(observe(good), observe(idle))
      // At once, for the observers that run next.
      expect([good.root?.recording.exported, idle.root?.recording.exported]).toEqual([true, false])
      yield* TestClock.adjust(Traces.handOverDelay)
      expect(written.map(({ spans }) => spans.map(({ name }) => name))).toEqual([
        ["reconcile widgets", "queue wait", "step"]
      ])
      expect(counted()).toEqual({ "traces slow": 1, "traces quiet": 1 })
    })
  )

  effect("is exported with the events that later observers add", () =>
    Effect.gen(function* () {
      const { events, observe } = yield* exporting(100)
      const one = slow()
      yield* observe(one)
      // Later observers may be slow.
      yield* Effect.repeat(Effect.yieldNow, { times: 20 })
      one.root?.remark("hot_loop.suspected", 1n)
      yield* TestClock.adjust(Traces.handOverDelay)
      expect(events).toEqual(["hot_loop.suspected"])
    })
  )

  effect("is neither exported nor counted without tracing", () =>
    Effect.gen(function* () {
      const { counted, observe, written } = yield* exporting(100)
      yield* observe({ ...slow(), root: undefined })
      yield* TestClock.adjust(Traces.handOverDelay)
      expect([written, counted()]).toEqual([[], {}])
    })
  )
})

describe("While a receiver is slow,", () => {
  effect("complete traces are dropped, counted and logged once, until there is room", () =>
    logged((lines) =>
      Effect.gen(function* () {
        const { arrive, counted, observe, written } = yield* exporting(8)
        const many = Array.from({ length: 5 }, () => slow())
        // Three spans each, with the queue wait: two attempts fit.
        for (const one of many) yield* observe(one)
        expect(many.map(({ root }) => root?.recording.exported)).toEqual([true, true, false, false, false])
        yield* TestClock.adjust(Traces.handOverDelay)
        expect(written).toHaveLength(2)
        yield* observe(slow())
        expect(counted()).toEqual({ "traces slow": 2, "traces dropped": 4, "spans_dropped buffer_full": 12 })
        expect(lines).toEqual(["Traces are dropped: more spans wait to be exported than there is room for"])
        arrive()
        yield* observe(slow())
        yield* TestClock.adjust(Traces.handOverDelay)
        expect(counted()).toMatchObject({ "traces slow": 3, "traces dropped": 4, spans_exported: 6 })
      })
    )
  )

  effect("all traces that fit into the queue are kept", () =>
    Effect.gen(function* () {
      const { observe, written } = yield* exporting(9)
      for (const one of Array.from({ length: 3 }, () => slow())) yield* observe(one)
      yield* TestClock.adjust(Traces.handOverDelay)
      expect(written).toHaveLength(3)
    })
  )
})

describe("An export error", () => {
  effect("is counted, and logged at most once a minute", () =>
    logged((lines) =>
      Effect.gen(function* () {
        const { counted, reports } = yield* exporting(100)
        reports()?.failed(10, new Error("connection refused"))
        reports()?.warned("connection refused")
        reports()?.failed(5, undefined)
        yield* Effect.yieldNow
        expect(counted()).toEqual({ "spans_dropped export_failed": 15 })
        expect(lines).toEqual(["Could not export spans (10): connection refused"])
        yield* TestClock.adjust("1 minute")
        reports()?.failed(1, undefined)
        yield* Effect.yieldNow
        expect(lines).toHaveLength(2)
        expect(lines[1]).toBe("Could not export spans (1): no reason was given (and 1 more since the last such line)")
      })
    )
  )

  effect("of another kind shares the limit of one line a minute", () =>
    logged((lines) =>
      Effect.gen(function* () {
        const { observe, reports } = yield* exporting(4)
        reports()?.failed(10, new Error("connection refused"))
        reports()?.warned("a setting is unknown")
        yield* observe(slow(10))
        yield* observe(broken())
        yield* TestClock.adjust(Traces.handOverDelay)
        expect(lines).toEqual(["Could not export spans (10): connection refused"])
        yield* TestClock.adjust("1 minute")
        yield* observe(slow(10))
        yield* Effect.yieldNow
        expect(lines.slice(1)).toEqual([
          "Traces are dropped: more spans wait to be exported than there is room for (and 3 more since the last such line)"
        ])
      })
    )
  )

  effect("does not affect other traces", () =>
    Effect.gen(function* () {
      const { counted, observe, written } = yield* exporting(100)
      for (const one of [broken(), slow()]) yield* observe(one)
      yield* TestClock.adjust(Traces.handOverDelay)
      expect(written).toHaveLength(1)
      expect(counted()).toEqual({ "traces slow": 2, "spans_dropped export_failed": 3 })
    })
  )

  effect("is counted for the spans above the limit of a trace", () =>
    Effect.gen(function* () {
      const { counted, observe } = yield* exporting(1000)
      yield* observe(slow(Recording.mostSpans + 4))
      yield* TestClock.adjust(Traces.handOverDelay)
      expect(counted()).toEqual({ "traces slow": 1, "spans_dropped trace_too_long": 4 })
    })
  )
})

describe("At shutdown,", () => {
  effect("waiting traces are handed over and exported", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      let isFlushed = false
      const flush = async () => {
        isFlushed = true
      }
      const { observe, written } = yield* Scope.provide(exporting(100, flush), scope)
      // A failed export does not stop later ones.
      for (const one of [slow(), broken(), slow()]) yield* observe(one)
      yield* Scope.close(scope, Exit.void)
      expect([written.length, isFlushed]).toEqual([2, true])
    })
  )

  /** Accepts spans and never responds. */
  const hanging: SpanExporter = { export: () => {}, shutdown: () => new Promise(() => {}) }

  effect("a hanging receiver delays the end by at most half a second, and the lost spans are counted", () =>
    logged((lines) =>
      Effect.gen(function* () {
        const registry = Metrics.make()
        const settings = {
          exporters: ["otlp"],
          protocol: "http/protobuf",
          ratio: 0,
          parentBased: true,
          batch: TraceSettings.defaultBatch
        } as const
        const open: Traces.Open = (reports) =>
          Effect.sync(() =>
            OpenTelemetry.open({
              settings,
              environment: {},
              resource: {},
              reports,
              ways: [{ exporter: hanging, batched: true }]
            })
          )
        const scope = yield* Scope.make()
        const { attempts } = yield* Traces.exporting(settings, open).pipe(
          Scope.provide(scope),
          Effect.provideService(Metrics.Metrics, registry)
        )
        yield* attempts(slow())
        const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void))
        yield* TestClock.adjust("499 millis")
        expect(closing.pollUnsafe()).toBeUndefined()
        yield* TestClock.adjust("1 millis")
        yield* Fiber.join(closing)
        expect(counted(registry)).toEqual({ "traces slow": 1, "spans_dropped shutdown": 3 })
        expect(lines).toEqual(["Ends without having exported all spans (3 left)"])
      })
    )
  )
})

describe("A request to a webhook", () => {
  const asked = (denial?: string) => {
    const root = Recording.root("POST /validate", { startTime: 0n, kind: "server" })
    root.end(1n, Exit.void)
    return call({ root, admission: admission({ answer: answer({ denial }) }) })
  }

  effect("that was denied is exported with its attributes, and the others are counted", () =>
    Effect.gen(function* () {
      const { counted, webhooks, written } = yield* exporting(100)
      const [denied, allowed] = [asked("no"), asked()]
      for (const one of [denied, allowed, call()]) webhooks(one)
      // At once, for the observers that run next.
      expect([denied.root?.recording.exported, allowed.root?.recording.exported]).toEqual([true, false])
      yield* TestClock.adjust(Traces.handOverDelay)
      expect(written.map(({ spans: [root] }) => root?.attributes.get("admission.message"))).toEqual(["no"])
      expect(counted()).toEqual({ "traces denied": 1, "traces quiet": 1 })
    })
  )

  effect("is dropped and counted if the history is full", () =>
    Effect.gen(function* () {
      const { counted, webhooks, written } = yield* exporting(2)
      for (const one of [asked("no"), asked("no"), asked("no")]) webhooks(one)
      yield* TestClock.adjust(Traces.handOverDelay)
      expect(written).toHaveLength(2)
      expect(counted()).toEqual({ "traces denied": 2, "traces dropped": 1, "spans_dropped buffer_full": 1 })
    })
  )
})

describe("Traces.make", () => {
  const setup = { name: "homeostat", version: "1", instance: "homeostat-0" }
  test("exports no traces without settings", () => {
    expect(Traces.make({ ...setup, environment: {} })).toEqual(Result.succeed(undefined))
  })
  test("reports an invalid setting", () => {
    expect(Traces.make({ ...setup, environment: { OTEL_TRACES_EXPORTER: "x" } })).toEqual(
      Result.fail('invalid value of OTEL_TRACES_EXPORTER: "x" (must be one of otlp, console, none)')
    )
  })
})
