import { describe, expect } from "bun:test"
import * as Faults from "@homeostat/testkit/Faults"
import { effect } from "@homeostat/testkit/Test"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/testing/TestClock"
import * as Client from "../client/Client.ts"
import * as Cluster from "../client/Cluster.fixture.ts"
import * as Reachability from "./Reachability.ts"
import { capture, ended, settle } from "./World.fixture.ts"

/** A gate whose probes the test controls, and the times of those probes. */
const start = Effect.gen(function* () {
  const state = { answers: false }
  const probes: Array<number> = []
  const logs: Array<string> = []
  const probe = Effect.map(Clock.currentTimeMillis, (at) => {
    probes.push(at)
    return state.answers
  })
  const gate = yield* Effect.provide(Reachability.make("memory", probe), capture(logs))
  yield* settle
  return { gate, state, probes, logs }
})

describe("The gate of the workers", () => {
  effect("is open without probes until a worker reports an outage", () =>
    Effect.gen(function* () {
      const { gate, logs, probes } = yield* start
      yield* TestClock.adjust("1 minute")
      yield* gate.reached
      expect(gate.isReached()).toBe(true)
      expect(probes).toEqual([])
      expect(logs).toEqual([])
    })
  )

  effect("is closed until a probe succeeds, and then releases all workers", () =>
    Effect.gen(function* () {
      const { gate, logs, state } = yield* start
      yield* gate.lost
      expect(gate.isReached()).toBe(false)
      const waiting = yield* Effect.forEach([1, 2, 3], () => Effect.forkChild(gate.reached))
      yield* TestClock.adjust("10 seconds")
      expect(yield* Effect.forEach(waiting, ended)).toEqual([false, false, false])
      state.answers = true
      yield* TestClock.adjust("2 seconds")
      yield* Fiber.joinAll(waiting)
      expect(gate.isReached()).toBe(true)
      expect(logs).toEqual([
        "WARN No API server answers; reconciles pause until one does",
        "INFO The API server answers again"
      ])
    })
  )

  effect("probes at once, and then with increasing delays of at most two seconds", () =>
    Effect.gen(function* () {
      const { gate, probes } = yield* start
      yield* gate.lost
      yield* TestClock.adjust("10 seconds")
      expect(probes).toEqual([0, 100, 300, 700, 1500, 3100, 5100, 7100, 9100])
    })
  )

  effect("logs an outage once, even if many workers report it", () =>
    Effect.gen(function* () {
      const { gate, logs, probes } = yield* start
      for (let n = 0; n < 16; n++) yield* gate.lost
      yield* TestClock.adjust("1 second")
      yield* gate.lost
      yield* TestClock.adjust("1 second")
      expect(logs).toHaveLength(1)
      expect(probes).toEqual([0, 100, 300, 700, 1500])
    })
  )

  effect("closes again with the next outage, and its probes start again", () =>
    Effect.gen(function* () {
      const { gate, probes, state } = yield* start
      state.answers = true
      yield* gate.lost
      yield* settle
      expect(gate.isReached()).toBe(true)
      yield* TestClock.adjust("5 seconds")
      state.answers = false
      yield* gate.lost
      yield* TestClock.adjust("400 millis")
      expect(gate.isReached()).toBe(false)
      expect(probes).toEqual([0, 5000, 5100, 5300])
    })
  )
})

describe("A probe of the client", () => {
  const withServer = (body: (server: Cluster.Cluster) => Effect.Effect<void, never, Reachability.Reachability>) => () =>
    Effect.gen(function* () {
      const server = yield* Cluster.make()
      const client = Client.layer().pipe(Layer.provide(server.transport))
      yield* Effect.provide(
        body(server),
        Layer.effect(Reachability.Reachability, Reachability.ofCluster).pipe(
          Layer.provide(client),
          Layer.provide(server.transport),
          Layer.provideMerge(capture([]))
        )
      )
    })

  for (const [what, fault] of [
    ["a server that is not ready", 500],
    ["a server that refuses", 403]
  ] as const) {
    effect(
      `counts ${what} as an answer`,
      withServer((server) =>
        Effect.gen(function* () {
          const gate = yield* Reachability.Reachability
          server.faults.on({ path: "/readyz" }, Faults.answer(fault))
          yield* gate.lost
          yield* settle
          expect(gate.isReached()).toBe(true)
          expect(server.requests.map(({ path }) => path)).toEqual(["/readyz"])
        })
      )
    )
  }

  effect(
    "waits five seconds at most for an answer",
    withServer((server) =>
      Effect.gen(function* () {
        const gate = yield* Reachability.Reachability
        server.faults.on({ path: "/readyz" }, Faults.held, { times: 1 })
        yield* gate.lost
        yield* TestClock.adjust("4 seconds")
        expect(gate.isReached()).toBe(false)
        yield* TestClock.adjust("2 seconds")
        expect(gate.isReached()).toBe(true)
      })
    )
  )

  effect(
    "does not count a refused or lost connection as an answer",
    withServer((server) =>
      Effect.gen(function* () {
        const gate = yield* Reachability.Reachability
        server.faults.on({ path: "/readyz" }, Faults.refused, { times: 2 })
        server.faults.on({ path: "/readyz" }, Faults.lost, { times: 2 })
        yield* gate.lost
        yield* TestClock.adjust("1 second")
        expect(gate.isReached()).toBe(false)
        yield* TestClock.adjust("1 second")
        expect(gate.isReached()).toBe(true)
        expect(server.requests).toHaveLength(5)
      })
    )
  )
})
