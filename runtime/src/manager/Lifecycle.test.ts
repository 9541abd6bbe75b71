import { describe, expect } from "bun:test"
import * as Faults from "@homeostat/testkit/Faults"
import { effect } from "@homeostat/testkit/Test"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import { FiberRuntimeMetrics } from "effect/Metric"
import * as EffectResult from "effect/Result"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import * as Client from "../client/Client.ts"
import * as Cluster from "../client/Cluster.fixture.ts"
import * as Controller from "../controller/Controller.ts"
import * as Result from "../controller/Result.ts"
import { capture, counted, ended, settle, Widget, widget } from "../controller/World.fixture.ts"
import * as EventRecorder from "../events/EventRecorder.ts"
import { ConfigMap, Event, Lease } from "../resource/BuiltIn.ts"
import * as HealthFixture from "./Health.fixture.ts"
import * as Health from "./Health.ts"
import * as LeaderElection from "./LeaderElection.ts"
import * as Manager from "./Manager.ts"
import * as Replica from "./Replica.fixture.ts"

const pass = TestClock.adjust

interface Settings extends Omit<Manager.Settings, "leaderElection"> {
  readonly namespaces?: ReadonlyArray<string>
  /** Takes part in an election with this identity. */
  readonly identity?: string | undefined
}

/** A manager that the test can stop, and the number of its fibers. */
const start = <R extends Manager.Runtime>(
  server: Cluster.Cluster,
  controllers: ReadonlyArray<Controller.Controller<R>>,
  { identity, namespaces, ...settings }: Settings = {}
) =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    let alive = 0
    const fibers = { recordFiberStart: () => void alive++, recordFiberEnd: () => void alive-- }
    const layer = Layer.provide(Manager.layer({ instance: "pod-1", namespaces }), server.transport)
    const leaderElection =
      identity === undefined ? undefined : EffectResult.getOrThrow(LeaderElection.make({ ...Replica.place, identity }))
    const running = Effect.gen(function* () {
      const services = yield* Layer.buildWithScope(layer, scope)
      // The services of a manager are all that the controllers of these tests need.
      const typed = controllers as ReadonlyArray<Controller.Controller<Manager.Runtime>>
      return yield* Manager.start(typed, { gracePeriod: 0, ...settings, leaderElection }).pipe(
        Effect.provide(services),
        Scope.provide(scope)
      )
    })
    const runners = yield* running.pipe(Effect.provide(capture([])), Effect.provideService(FiberRuntimeMetrics, fibers))
    yield* settle
    return {
      runners,
      /** The number of its live fibers. */
      alive: () => alive,
      stop: Effect.forkChild(Scope.close(scope, Exit.void))
    }
  })

const done = () => counted(() => Effect.succeed(Result.done))

const watches = (server: Cluster.Cluster) =>
  server.requests.filter(({ path, verb }) => verb === "watch" && !path.includes("leases")).length

describe("A standby", () => {
  effect("has synced caches without reconciles, and reconciles all objects without a list when it leads", () =>
    Effect.gen(function* () {
      const server = yield* Cluster.make()
      for (const name of ["a", "b"]) server.put(Widget, widget(name))
      const [first, second] = [done(), done()]
      const make = ({ reconcile }: typeof first) =>
        Controller.make("widgets", { for: Widget, owns: [ConfigMap], reconcile })
      const leader = yield* start(server, [make(first)], { identity: "one" })
      const standby = yield* start(server, [make(second)], { identity: "two" })
      expect(standby.runners[0]?.informers.map((informer) => informer.state().status)).toEqual(["synced", "synced"])
      server.put(Widget, widget("c"))
      yield* pass("20 seconds")
      expect([first.names(), second.names()]).toEqual([["a", "b", "c"], []])
      const before = watches(server)
      yield* leader.stop
      yield* settle
      // Changed objects come first.
      expect(second.names()).toEqual(["c", "a", "b"])
      expect(watches(server)).toBe(before)
      yield* standby.stop
    })
  )

  effect("stays a standby beside a leader whose controllers run in every replica", () =>
    Effect.gen(function* () {
      const server = yield* Cluster.make()
      const [first, second] = [done(), done()]
      const make = ({ reconcile }: typeof first, leaderElected: boolean) =>
        Controller.make("widgets", { for: Widget, leaderElected, reconcile })
      const leader = yield* start(server, [make(first, false)], { identity: "one" })
      const standby = yield* start(server, [make(second, true)], { identity: "two" })
      server.put(Widget, widget("a"))
      yield* pass("20 seconds")
      expect([first.names(), second.names()]).toEqual([["a"], []])
      expect(Replica.holder(server)).toBe("one")
      yield* leader.stop
      yield* settle
      expect(Replica.holder(server)).toBe("two")
      expect(second.names()).toEqual(["a"])
      yield* standby.stop
    })
  )

  effect("syncs a kind that is served later, and needs no list when it leads", () =>
    Effect.gen(function* () {
      const server = yield* Cluster.make()
      server.put(Widget, widget("a"))
      const missing = server.faults.on({ verb: ["list", "watch"], kind: Widget }, Faults.answer(404))
      const { names, reconcile } = done()
      const make = Controller.make("widgets", { for: Widget, reconcile })
      const leader = yield* start(server, [], { identity: "one" })
      const standby = yield* start(server, [make], { identity: "two" })
      yield* pass("30 seconds")
      expect(standby.runners[0]?.informers[0]?.state().status).toBe("missing")
      missing.remove()
      yield* pass("10 seconds")
      expect(standby.runners[0]?.informers[0]?.state().status).toBe("synced")
      const before = watches(server)
      yield* leader.stop
      yield* settle
      expect(names()).toEqual(["a"])
      expect(watches(server)).toBe(before)
      yield* standby.stop
    })
  )
})

describe("A leader", () => {
  const slow = (ends: Array<string>) =>
    Controller.make("widgets", {
      for: Widget,
      timeout: "10 minutes",
      reconcile: () =>
        Effect.sleep("1 minute").pipe(
          Effect.andThen(Effect.sync(() => void ends.push("finished"))),
          Effect.onInterrupt(() => Effect.sync(() => void ends.push("interrupted"))),
          Effect.as(Result.done)
        )
    })

  effect("that is stopped holds the Lease until its reconciles are finished, and then releases it", () =>
    Effect.gen(function* () {
      const server = yield* Cluster.make()
      server.put(Widget, widget("a"))
      const ends: Array<string> = []
      const leader = yield* start(server, [slow(ends)], { identity: "one", gracePeriod: "2 minutes" })
      const stopping = yield* leader.stop
      for (let second = 0; second < 59; second++) {
        yield* pass("1 second")
        expect(Replica.holder(server)).toBe("one")
      }
      expect(ends).toEqual([])
      expect(server.get(Lease, "homeostat")?.spec).toMatchObject({
        holderIdentity: "one",
        renewTime: "1970-01-01T00:00:58.000000Z"
      })
      yield* pass("1 second")
      expect(ends).toEqual(["finished"])
      expect(yield* ended(stopping)).toBe(true)
      expect(Replica.holder(server)).toBe("")
    })
  )

  effect(
    "that loses the Lease interrupts its reconciles at once, whatever the grace period, and continues as a standby",
    () =>
      Effect.gen(function* () {
        const server = yield* Cluster.make()
        server.put(Widget, widget("a"))
        const ends: Array<string> = []
        const leader = yield* start(server, [slow(ends)], { identity: "one", gracePeriod: "2 minutes" })
        server.change(Lease, "homeostat", { spec: { holderIdentity: "two" } })
        yield* pass("3 seconds")
        expect(ends).toEqual(["interrupted"])
        // No process renews that Lease: the next one acquires it, and the work starts again.
        yield* pass("80 seconds")
        expect(ends).toEqual(["interrupted", "finished"])
        yield* leader.stop
      })
  )
})

describe("A manager that stops", () => {
  effect("leaves no fiber and no watch behind, even if a reconcile ends late", () =>
    Effect.gen(function* () {
      const server = yield* Cluster.make()
      server.put(Widget, widget("a"))
      const reconcile = () => Effect.onInterrupt(Effect.never, () => Effect.sleep("2 seconds"))
      const manager = yield* start(server, [Controller.make("widgets", { for: Widget, reconcile })], {
        identity: "one",
        gracePeriod: "1 second"
      })
      expect(manager.alive()).toBeGreaterThan(0)
      const stopping = yield* manager.stop
      yield* pass("2900 millis")
      expect(yield* ended(stopping)).toBe(false)
      yield* pass("200 millis")
      expect(yield* ended(stopping)).toBe(true)
      expect(server.faults.watches()).toBe(0)
      expect(manager.alive()).toBe(0)
    })
  )

  for (const [how, trouble] of [
    [
      "is forbidden",
      (server: Cluster.Cluster) => server.faults.on({ verb: ["list", "watch"], namespace: "two" }, Faults.answer(403))
    ],
    [
      "does not answer",
      (server: Cluster.Cluster) => server.faults.on({ verb: ["list", "watch"], namespace: "two" }, Faults.held)
    ]
  ] as const) {
    effect(`ends at once, and leaves nothing behind, while one of its namespaces ${how}`, () =>
      Effect.gen(function* () {
        const server = yield* Cluster.make([Widget])
        trouble(server)
        const controller = Controller.make("widgets", { for: Widget, reconcile: done().reconcile })
        const manager = yield* start(server, [controller], { namespaces: ["one", "two"], gracePeriod: "30 seconds" })
        yield* pass("1 minute")
        expect(manager.runners[0]?.informers[0]?.state().synced).toBe(false)
        expect(server.faults.watches()).toBe(1)
        expect(manager.alive()).toBeGreaterThan(0)
        const stopping = yield* manager.stop
        yield* settle
        expect(yield* ended(stopping)).toBe(true)
        expect(server.faults.watches()).toBe(0)
        expect(manager.alive()).toBe(0)
      })
    )
  }

  for (const identity of [undefined, "one"]) {
    effect(
      `waits until the Events of its last reconciles are written${identity === undefined ? "" : ", while it is still the leader"}`,
      () =>
        Effect.gen(function* () {
          const server = yield* Cluster.make()
          server.put(Widget, widget("a"))
          const reconcile = (regarding: Widget) =>
            EventRecorder.record({ regarding, type: "Normal", reason: "Done", note: "the last word" }).pipe(
              Effect.delay("1 second"),
              Effect.as(Result.done)
            )
          const controller = Controller.make("widgets", { for: Widget, reconcile })
          const manager = yield* start(server, [controller], { identity, gracePeriod: "10 seconds" })
          const slow = server.faults.on({ verb: "create", kind: Event }, Faults.held)
          const stopping = yield* manager.stop
          yield* pass("2 seconds")
          expect(yield* ended(stopping)).toBe(false)
          // Recorded while it still leads.
          expect(Replica.holder(server)).toBe(identity)
          slow.remove()
          yield* settle
          expect(yield* ended(stopping)).toBe(true)
          expect(server.events().map(({ note }) => note)).toContain("the last word")
        })
    )
  }

  effect("before it has started starts nothing", () =>
    Effect.gen(function* () {
      const server = yield* Cluster.make()
      server.put(Widget, widget("a"))
      const { names, reconcile } = done()
      const scope = yield* Scope.make()
      const services = yield* Layer.build(Layer.provide(Manager.layer({ instance: "pod-1" }), server.transport))
      yield* Scope.close(scope, Exit.void)
      yield* Manager.start([Controller.make("widgets", { for: Widget, reconcile })]).pipe(
        Effect.provide(services),
        Effect.provide(capture([])),
        Scope.provide(scope),
        Effect.exit
      )
      yield* pass("1 minute")
      expect(names()).toEqual([])
    })
  )
})

describe("A forbidden kind", () => {
  effect("makes the manager unready with the name of the kind, and does not affect controllers of other kinds", () =>
    Effect.gen(function* () {
      const server = yield* Cluster.make()
      server.put(Widget, widget("a"))
      const forbidden = server.faults.on({ verb: ["list", "watch"], kind: ConfigMap }, Faults.answer(403))
      const [stuck, fine] = [done(), done()]
      const { checks, health } = HealthFixture.readiness()
      yield* Effect.gen(function* () {
        const services = yield* Layer.build(Layer.provide(Manager.layer({ instance: "pod-1" }), server.transport))
        const controllers = [
          Controller.make("stuck", { for: Widget, owns: [ConfigMap], reconcile: stuck.reconcile }),
          Controller.make("fine", { for: Widget, reconcile: fine.reconcile })
        ]
        yield* Effect.provide(Manager.start(controllers, { gracePeriod: 0 }), services)
      }).pipe(Effect.provideService(Health.Health, health), Effect.provide(capture([])))
      yield* pass("1 minute")
      const unready = Effect.map(
        Effect.forEach(checks, ([name, check]) =>
          Effect.map(Effect.result(Health.effectOf(check)), (result) => ({ name, result }))
        ),
        (results) =>
          results.flatMap(({ name, result }) => (EffectResult.isFailure(result) ? [`${name}: ${result.failure}`] : []))
      )
      expect([...checks.keys()]).toEqual(["cache-widgets.example.com", "cache-configmaps"])
      expect(yield* unready).toEqual([
        expect.stringMatching(/^cache-configmaps: .*requires permission to list and watch configmaps/)
      ])
      expect([stuck.names(), fine.names()]).toEqual([[], ["a"]])
      forbidden.remove()
      yield* pass("1 minute")
      expect(yield* unready).toEqual([])
      expect([stuck.names(), fine.names()]).toEqual([["a"], ["a"]])
    })
  )
})

describe("The finalizer of a controller", () => {
  effect("is unique for a kind: a second controller with it is rejected", () =>
    Effect.gen(function* () {
      const server = yield* Cluster.make()
      const of = (name: string, entry: string) =>
        Controller.make(name, {
          for: Widget,
          finalizer: { name: entry, cleanup: () => Effect.void },
          reconcile: done().reconcile
        })
      const exit = yield* Effect.exit(
        start(server, [of("a", "example.com/a"), of("b", "example.com/b"), of("c", "example.com/a")])
      )
      expect(String(exit)).toContain("controllers a and c of Widget share the finalizer example.com/a")
      expect(server.requests).toEqual([])
    })
  )
})

describe("The name of a controller", () => {
  effect("is unique within a manager: a second controller with it is rejected", () =>
    Effect.gen(function* () {
      const server = yield* Cluster.make()
      const make = () => Controller.make("widgets", { for: Widget, reconcile: done().reconcile })
      const exit = yield* Effect.exit(start(server, [make(), make()]))
      expect(String(exit)).toContain("two controllers are named widgets")
      expect(server.requests).toEqual([])
    })
  )

  effect("may repeat in another manager of the process, and in a later one", () =>
    Effect.gen(function* () {
      const server = yield* Cluster.make()
      server.put(Widget, widget("a"))
      const counters = [done(), done(), done()]
      const make = ({ reconcile }: ReturnType<typeof done>) => Controller.make("widgets", { for: Widget, reconcile })
      const [one, two, three] = counters.map(make)
      if (one === undefined || two === undefined || three === undefined)
        return yield* Effect.die(new Error("there are three"))
      const first = yield* start(server, [one])
      const second = yield* start(server, [two])
      yield* first.stop
      yield* settle
      const third = yield* start(server, [three])
      expect(counters.map(({ names }) => names())).toEqual([["a"], ["a"], ["a"]])
      yield* second.stop
      yield* third.stop
    })
  )
})

describe("Two clusters", () => {
  effect("have one manager each in a process, and a reconcile can use the client of the other cluster", () =>
    Effect.gen(function* () {
      class Other extends Context.Service<Other, Client.Client["Service"]>()("test/Other") {}
      const [here, there] = [yield* Cluster.make(), yield* Cluster.make()]
      here.put(Widget, widget("a"))
      there.put(Widget, widget("b"))
      const copier = Controller.make("widgets", {
        for: Widget,
        reconcile: ({ metadata }) =>
          Effect.flatMap(Other, (other) =>
            other.create(ConfigMap, { metadata: { namespace: "default", name: metadata.name } })
          ).pipe(Effect.as(Result.done))
      })
      const other = Layer.effect(Other, Client.Client).pipe(
        Layer.provide(Client.layer({ userAgent: "test" })),
        Layer.provide(there.transport)
      )
      const { names, reconcile } = done()
      const scope = yield* Effect.scope
      const services = yield* Layer.build(
        Layer.merge(Layer.provide(Manager.layer({ instance: "pod-1" }), here.transport), other)
      )
      yield* Manager.start([copier], { gracePeriod: 0 }).pipe(
        Effect.provide(services),
        Effect.provide(capture([])),
        Scope.provide(scope)
      )
      yield* start(there, [Controller.make("widgets", { for: Widget, reconcile })])
      expect(there.get(ConfigMap, "a")).toBeDefined()
      expect(names()).toEqual(["b"])
    })
  )
})
