import { describe, expect, test } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { Counter, Gauge, Histogram } from "./Metric.ts"
import * as Metric from "./Metric.ts"
import * as Metrics from "./Metrics.ts"
import { reading } from "./Reading.fixture.ts"

const visits: Counter<"page" | "code"> = Metric.counter("visits_total", "Visits.", ["page", "code"])
const guests: Gauge<"room"> = Metric.gauge("guests", "Guests.", ["room"])
const seconds: Histogram = Metric.histogram("seconds", "Seconds.", [0.1, 1, 10])
const stays = Metric.histogram("stays_seconds", "Stays.", [60, 3600], ["room"])

const series = (registry: Metrics.Registry, name: string) =>
  registry.read().find(({ metric }) => metric.name === name)?.series

describe("A registry", () => {
  test("has a series for each set of labels, in any order", () => {
    const registry = Metrics.make()
    const home = registry.counter(visits, { page: "home", code: "200" })
    home.add()
    home.add(2)
    registry.counter(visits, { code: "404", page: "home" }).add()
    registry.counter(visits, { code: "200", page: "home" }).add()
    expect(series(registry, "visits_total")).toEqual([
      { labels: ["home", "200"], value: 4 },
      { labels: ["home", "404"], value: 1 }
    ])
  })

  test("distinguishes labels with the same concatenation", () => {
    const registry = Metrics.make()
    registry.counter(visits, { page: "a", code: "bc" }).add()
    registry.counter(visits, { page: "ab", code: "c" }).add()
    expect(series(registry, "visits_total")).toHaveLength(2)
  })

  test("creates a series at 0 when it is bound", () => {
    const registry = Metrics.make()
    registry.counter(visits, { page: "home", code: "200" })
    registry.histogram(seconds, {})
    expect(series(registry, "visits_total")).toEqual([{ labels: ["home", "200"], value: 0 }])
    expect(series(registry, "seconds")).toEqual([{ labels: [], bounds: [0.1, 1, 10], counts: [0, 0, 0, 0], sum: 0 }])
  })

  test("has gauges that can be set, incremented and decremented", () => {
    const registry = Metrics.make()
    const room = registry.gauge(guests, { room: "1" })
    room.set(5)
    room.add(-2)
    expect(series(registry, "guests")).toEqual([{ labels: ["1"], value: 3 }])
  })

  test("counts a value in the first bucket with an upper bound of at least the value", () => {
    const registry = Metrics.make()
    const { observe } = registry.histogram(seconds, {})
    for (const value of [0, 0.1, 0.11, 1, 1.5, 10, 10.1, 1000]) observe(value)
    expect(series(registry, "seconds")).toEqual([
      { labels: [], bounds: [0.1, 1, 10], counts: [2, 2, 2, 2], sum: 1022.81 }
    ])
  })

  test("finds the same bucket as a linear search, for every histogram", () => {
    for (const metric of Object.values(Metric)) {
      if (!("buckets" in metric)) continue
      for (const bound of metric.buckets) {
        for (const value of [bound * 0.999, bound, bound * 1.001]) {
          const registry = Metrics.make()
          registry.histogram<string>(metric, {}).observe(value)
          const expected = metric.buckets.findIndex((other) => value <= other)
          const [read] = registry.read()[0]?.series ?? []
          expect(read !== undefined && "counts" in read && read.counts.indexOf(1)).toBe(
            expected < 0 ? metric.buckets.length : expected
          )
        }
      }
    }
  })

  test("calls collectors before a read, until they are removed", () => {
    const registry = Metrics.make()
    let waiting = 7
    const forget = registry.onCollect(() => registry.gauge(guests, { room: "1" }).set(waiting))
    expect(series(registry, "guests")).toEqual([{ labels: ["1"], value: 7 }])
    forget()
    waiting = 9
    expect(series(registry, "guests")).toEqual([{ labels: ["1"], value: 7 }])
  })

  test("counts and reports a collector that throws, and calls the others", () => {
    const registry = Metrics.make()
    registry.onCollect(() => {
      throw new Error("boom")
    })
    registry.onCollect(() => registry.gauge(guests, { room: "1" }).set(7))
    const thrown: Array<unknown> = []
    registry.read((error) => thrown.push(error))
    expect(thrown).toEqual([new Error("boom")])
    expect(series(registry, "guests")).toEqual([{ labels: ["1"], value: 7 }])
    expect(series(registry, "homeostat_metrics_collect_errors_total")).toEqual([{ labels: [], value: 3 }])
  })

  test("keeps the newest exemplar of each bucket, also after a value without a trace", () => {
    const registry = Metrics.make()
    const { observe } = registry.histogram(seconds, {})
    const trace = (traceId: string, at: number) => ({ traceId, spanId: "s", at })
    observe(0.5, trace("first", 1))
    observe(0.7, trace("second", 2))
    observe(0.6)
    observe(70, trace("slow", 3))
    expect(series(registry, "seconds")).toEqual([
      {
        labels: [],
        bounds: [0.1, 1, 10],
        counts: [0, 3, 0, 1],
        sum: 71.8,
        exemplars: [
          undefined,
          { traceId: "second", spanId: "s", at: 2, value: 0.7 },
          undefined,
          { traceId: "slow", spanId: "s", at: 3, value: 70 }
        ]
      }
    ])
  })

  test("returns snapshots that later values do not change", () => {
    const registry = Metrics.make()
    const { observe } = registry.histogram(seconds, {})
    const before = registry.read()
    observe(1)
    expect(before).toEqual([
      { metric: seconds, series: [{ labels: [], bounds: [0.1, 1, 10], counts: [0, 0, 0, 0], sum: 0 }] }
    ])
  })
})

describe("Removed series", () => {
  test("disappear, with their metric if it has no other series", () => {
    const registry = Metrics.make()
    for (const room of ["1", "2"]) {
      registry.gauge(guests, { room }).set(3)
      registry.histogram(stays, { room }).observe(100)
    }
    registry.remove(guests, { room: "1" })
    registry.remove(stays, { room: "1" })
    registry.remove(visits, { page: "never bound" })
    expect(reading(registry)).toEqual({
      'guests{room="2"}': 3,
      'stays_seconds_count{room="2"}': 1,
      'stays_seconds_sum{room="2"}': 100
    })
    registry.remove(guests, { room: "2" })
    expect(registry.read().map(({ metric }) => metric.name)).toEqual(["stays_seconds"])
  })

  test("include all that match the given labels", () => {
    const registry = Metrics.make()
    for (const page of ["home", "away"]) for (const code of ["200", "404"]) registry.counter(visits, { page, code })
    registry.remove(visits, { page: "home" })
    expect(series(registry, "visits_total")?.map(({ labels }) => labels)).toEqual([
      ["away", "200"],
      ["away", "404"]
    ])
    registry.remove(visits, {})
    expect(registry.read()).toEqual([])
  })

  test("start at 0 when they are bound again, and ignore the old instrument", () => {
    const registry = Metrics.make()
    const room = registry.gauge(guests, { room: "1" })
    const stay = registry.histogram(stays, { room: "1" })
    stay.observe(100)
    room.set(5)
    registry.remove(guests, { room: "1" })
    registry.remove(stays, { room: "1" })
    registry.gauge(guests, { room: "1" })
    registry.histogram(stays, { room: "1" })
    room.add(1)
    stay.observe(100)
    expect(reading(registry)).toEqual({
      'guests{room="1"}': 0,
      'stays_seconds_count{room="1"}': 0,
      'stays_seconds_sum{room="1"}': 0
    })
  })
})

describe("A part of a registry", () => {
  test("shares the series of the registry", () => {
    const registry = Metrics.make()
    const part = registry.part()
    const before = registry.gauge(guests, { room: "1" })
    before.set(1)
    part.gauge(guests, { room: "1" }).add(1)
    part.gauge(guests, { room: "2" }).set(7)
    expect(reading(registry)).toEqual({ 'guests{room="1"}': 2, 'guests{room="2"}': 7 })
    expect(reading(part)).toEqual(reading(registry))
    part.remove(guests, { room: "1" })
    expect(reading(registry)).toEqual({ 'guests{room="2"}': 7 })
  })

  test("removes the series that only it has bound when it ends", () => {
    const registry = Metrics.make()
    const [one, other] = [registry.part(), registry.part()]
    registry.gauge(guests, { room: "1" }).set(1)
    one.gauge(guests, { room: "1" })
    one.gauge(guests, { room: "2" }).set(2)
    one.histogram(stays, { room: "2" })
    other.gauge(guests, { room: "3" }).set(3)
    one.end()
    expect(reading(registry)).toEqual({ 'guests{room="1"}': 1, 'guests{room="3"}': 3 })
  })

  test("ignores collectors and values after its end", () => {
    const registry = Metrics.make()
    const part = registry.part()
    let calls = 0
    const collect = () => {
      calls++
    }
    part.onCollect(collect)
    registry.read()
    part.end()
    part.onCollect(collect)
    part.counter(visits, { page: "late", code: "200" }).add()
    expect(registry.read()).toEqual([])
    expect(calls).toBe(1)
  })
})

describe("Two metrics with the same name", () => {
  const others: ReadonlyArray<readonly [string, Metric.Metric]> = [
    ["another type", { ...stays, type: "gauge" }],
    ["other labels", { ...stays, labels: ["floor"] }],
    ["other buckets", { ...stays, buckets: [60, 7200] }]
  ]
  for (const [what, metric] of others) {
    test(`are rejected if one has ${what}`, () => {
      const registry = Metrics.make()
      registry.histogram(stays, { room: "1" })
      const bind = () =>
        metric.type === "histogram" ? registry.histogram(metric, {}) : registry.gauge({ ...metric, type: "gauge" }, {})
      expect(bind).toThrow("There are two metrics stays_seconds, of different types, labels or buckets")
    })
  }

  test("are one metric if their definitions are equal, as from two copies of a module", () => {
    const registry = Metrics.make()
    registry.histogram(stays, { room: "1" }).observe(1)
    registry.histogram({ ...stays, labels: [...stays.labels] }, { room: "1" }).observe(1)
    expect(reading(registry)['stays_seconds_count{room="1"}']).toBe(2)
  })
})

describe("Metrics.once", () => {
  class Front extends Context.Service<Front, { readonly rooms: ReadonlyArray<string> }>()("test/Front") {}

  effect("creates its value on first use, once per registry", () =>
    Effect.gen(function* () {
      let made = 0
      const rooms = Metrics.once((registry, services: Context.Context<Front>) => {
        made++
        return Context.get(services, Front).rooms.map((room) => registry.gauge(guests, { room }))
      })
      const registry = Metrics.make()
      const within = <A, E>(effect: Effect.Effect<A, E, Front>, registry: Metrics.Registry) =>
        effect.pipe(
          Effect.provideService(Front, { rooms: ["1", "2"] }),
          Effect.provideService(Metrics.Metrics, registry)
        )
      expect(made).toBe(0)
      expect(yield* within(rooms, registry)).toBe(yield* within(rooms, registry))
      expect([made, reading(registry)]).toEqual([1, { 'guests{room="1"}': 0, 'guests{room="2"}': 0 }])
      yield* within(rooms, Metrics.make())
      expect(made).toBe(2)
    })
  )
})

test("Metrics.following continues when the total starts again", () => {
  const registry = Metrics.make()
  const follow = Metrics.following(registry.counter(visits, { page: "home", code: "200" }))
  for (const total of [3, 5, 5, 2, 4]) follow(total)
  expect(series(registry, "visits_total")).toEqual([{ labels: ["home", "200"], value: 9 }])
})

describe("The definition of a metric", () => {
  const wrong: ReadonlyArray<readonly [string, () => unknown, string]> = [
    ["has an invalid name", () => Metric.gauge("2nd-floor", "Guests."), "letters, digits and _"],
    ["is a counter without the suffix _total", () => Metric.counter("visits", "Visits."), "end in _total"],
    ["is a gauge with the suffix _total", () => Metric.gauge("guests_total", "Guests."), "end in _total"],
    ["has a suffix of histograms", () => Metric.gauge("guests_bucket", "Guests."), "readers make themselves"],
    ["has an empty help text", () => Metric.gauge("guests", " "), "help is required"],
    ["has the label le", () => Metric.gauge("guests", "Guests.", ["room", "le"]), '"le" can\'t be a label'],
    ["has a label of two words", () => Metric.gauge("guests", "Guests.", ["room no"]), '"room no" can\'t be a label'],
    ["has a label twice", () => Metric.gauge("guests", "Guests.", ["room", "room"]), "a label twice"],
    ["has no buckets", () => Metric.histogram("stays_seconds", "Stays.", []), "do not rise"],
    ["has decreasing buckets", () => Metric.histogram("stays_seconds", "Stays.", [2, 1]), "do not rise"],
    ["has a bucket twice", () => Metric.histogram("stays_seconds", "Stays.", [1, 1]), "do not rise"],
    ["writes the last bucket", () => Metric.histogram("stays_seconds", "Stays.", [1, Infinity]), "do not rise"]
  ]
  for (const [what, define, message] of wrong) {
    test(`that ${what} is rejected with its name`, () => {
      expect(define).toThrow(message)
      expect(define).toThrow(/^The metric "/)
    })
  }
})

describe("The definitions of all metrics", () => {
  const all: ReadonlyArray<Metric.Metric> = Object.values(Metric).flatMap((value) => ("type" in value ? [value] : []))

  test("have unique names", () => {
    expect(new Set(all.map(({ name }) => name)).size).toBe(all.length)
  })

  test("have names for OpenMetrics: counters end in _total, and no two metrics have the same samples", () => {
    const samples = all.flatMap(({ name, type }) => {
      expect([name, name.endsWith("_total")]).toEqual([name, type === "counter"])
      expect(name).not.toMatch(/_(created|bucket|count|sum|info)$/)
      return type === "histogram" ? ["_bucket", "_count", "_sum"].map((end) => `${name}${end}`) : [name]
    })
    expect(new Set(samples).size).toBe(samples.length)
  })

  test("have help texts, and no labels that Prometheus reserves", () => {
    for (const { help, labels, name } of all) {
      expect([name, help.trim() === help && help.length > 10]).toEqual([name, true])
      for (const label of labels) expect(label).toMatch(/^(?!le$|quantile$|__)[a-z][a-z_]*$/)
    }
  })

  test("have increasing buckets", () => {
    for (const metric of all) {
      if (metric.type === "histogram")
        expect(metric.buckets).toEqual([...new Set(metric.buckets)].sort((a, b) => a - b))
    }
  })
})
