import { describe, expect } from "bun:test"
import * as Faults from "@homeostat/testkit/Faults"
import { effect } from "@homeostat/testkit/Test"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import * as Client from "../client/Client.ts"
import * as Cluster from "../client/Cluster.fixture.ts"
import * as Fence from "../client/Fence.ts"
import * as Controller from "../controller/Controller.ts"
import * as Result from "../controller/Result.ts"
import { capture, counted, ended, settle, Widget, widget } from "../controller/World.fixture.ts"
import * as EventRecorder from "../events/EventRecorder.ts"
import { ConfigMap, Secret } from "../resource/BuiltIn.ts"
import * as WallClock from "../resource/WallClock.fixture.ts"
import * as Health from "./Health.ts"
import type { LeaderElection } from "./LeaderElection.ts"
import * as Manager from "./Manager.ts"

/** A manager with the current or the given clock. `stop` closes everything, like a signal. */
const start = <R extends Manager.Runtime>(
  server: Cluster.Cluster,
  controllers: ReadonlyArray<Controller.Controller<R>>,
  {
    clock,
    namespaces,
    ...settings
  }: Manager.Settings & { readonly namespaces?: ReadonlyArray<string>; readonly clock?: Clock.Clock } = {}
) =>
  Effect.gen(function* () {
    const logs: Array<string> = []
    const scope = yield* Scope.make()
    const layer = Manager.layer({ instance: "pod-1", namespaces }).pipe(
      Layer.provide(server.transport),
      Layer.provideMerge(capture(logs))
    )
    const clocked = Effect.provideService(Clock.Clock, clock ?? (yield* Clock.Clock))
    const services = yield* clocked(Layer.buildWithScope(layer, scope))
    // The services of a manager are all that the controllers of these tests need.
    const running = Manager.start(controllers as ReadonlyArray<Controller.Controller<Manager.Runtime>>, settings)
    const runners = yield* running.pipe(
      Effect.provide(services),
      Effect.provide(capture(logs)),
      Scope.provide(scope),
      clocked
    )
    yield* settle
    return { logs, runners, stop: Effect.forkChild(Scope.close(scope, Exit.void)) }
  })

const done = () => counted(() => Effect.succeed(Result.done))

/** The liveness of a manager: `look` fails while the process is alive, and else returns the reason. */
const vitals = () => {
  const checks = new Map<string, Health.Check>()
  const health: Health.Checks = {
    liveness: (name, check) => Effect.sync(() => void checks.set(name, check)),
    readiness: () => Effect.void,
    started: Effect.void,
    shutDown: Effect.void
  }
  return { health, look: Effect.suspend(() => Effect.flip(Effect.forEach(checks.values(), Health.effectOf))) }
}

effect("A manager is not alive while its leader waits too long for reconciles of an earlier term", () =>
  Effect.gen(function* () {
    const { health, look } = vitals()
    const server = yield* Cluster.make()
    server.put(Widget, widget("a"))
    const lost = yield* Deferred.make<void>()
    const won = yield* Deferred.make<void>()
    const lostAgain = yield* Deferred.make<void>()
    const leaderElection: LeaderElection = {
      identity: "me",
      lease: { namespace: "default", name: "test" },
      state: () => ({ leading: true, holder: undefined }),
      run: (lead, stop) =>
        Effect.raceFirst(lead(Fence.open), Deferred.await(lost)).pipe(
          Effect.andThen(Deferred.await(won)),
          Effect.andThen(Effect.raceFirst(lead(Fence.open), Deferred.await(lostAgain))),
          Effect.andThen(Deferred.await(stop))
        )
    }
    const stuck = Controller.make("stuck", { for: Widget, reconcile: () => Effect.uninterruptible(Effect.never) })
    const fine = Controller.make("fine", { for: Widget, reconcile: () => Effect.succeed(Result.done) })
    const manager = start(server, [stuck, fine], { leaderElection })
    const { stop } = yield* Effect.provideService(manager, Health.Health, health)
    yield* Deferred.succeed(lost, undefined)
    yield* TestClock.adjust("10 minutes")
    // During standby another process may lead.
    expect(yield* Effect.isFailure(look)).toBe(true)
    yield* Deferred.succeed(won, undefined)
    yield* TestClock.adjust("34 seconds")
    expect(yield* Effect.isFailure(look)).toBe(true)
    yield* TestClock.adjust("2 seconds")
    expect(yield* look).toBe("stuck can't lead: reconciles of the last leadership do not end")
    yield* Deferred.succeed(lostAgain, undefined)
    yield* settle
    expect(yield* Effect.isFailure(look)).toBe(true)
    yield* stop
    yield* settle
  })
)

effect("A manager runs the work of the leader only while it leads, and fences its writes", () =>
  Effect.gen(function* () {
    const events: Array<string> = []
    const [won, lost] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
    const leaderElection: LeaderElection = {
      identity: "me",
      lease: { namespace: "default", name: "test" },
      state: () => ({ leading: true, holder: undefined }),
      run: (lead, stop) =>
        Deferred.await(won).pipe(
          Effect.andThen(Effect.raceFirst(lead({ permits: () => true, reason: "leads" }), Deferred.await(lost))),
          Effect.andThen(Deferred.await(stop))
        )
    }
    const whileLeading = Effect.flatMap(Fence.Fence, ({ reason }) => Effect.sync(() => events.push(reason))).pipe(
      Effect.andThen(Effect.never),
      Effect.ensuring(Effect.sync(() => events.push("ends")))
    )
    const { stop } = yield* start(yield* Cluster.make(), [], { leaderElection, whileLeading })
    yield* settle
    expect(events).toEqual([])
    yield* Deferred.succeed(won, undefined)
    yield* settle
    expect(events).toEqual(["leads"])
    yield* Deferred.succeed(lost, undefined)
    yield* settle
    expect(events).toEqual(["leads", "ends"])
    yield* stop
    const alone = yield* start(yield* Cluster.make(), [], { whileLeading })
    yield* settle
    expect(events).toEqual(["leads", "ends", ""])
    yield* alone.stop
    yield* settle
    expect(events.at(-1)).toBe("ends")
  })
)

effect("A manager is not alive after its controllers died", () =>
  Effect.gen(function* () {
    const { health, look } = vitals()
    const begin = yield* Deferred.make<void>()
    const leaderElection: LeaderElection = {
      identity: "me",
      lease: { namespace: "default", name: "test" },
      state: () => ({ leading: false, holder: undefined }),
      run: () => Effect.andThen(Deferred.await(begin), Effect.die(new Error("boom")))
    }
    const manager = start(yield* Cluster.make(), [], { leaderElection })
    const { logs, stop } = yield* Effect.provideService(manager, Health.Health, health)
    expect(yield* Effect.isFailure(look)).toBe(true)
    yield* Deferred.succeed(begin, undefined)
    yield* settle
    expect(yield* look).toBe("internal error: the controllers stopped unexpectedly (see the log)")
    expect(logs).toContain("FATAL Internal error: the controllers stopped unexpectedly")
    yield* stop
  })
)

describe("The controllers of one manager", () => {
  effect("share the watch of a kind, and have separate workers", () =>
    Effect.gen(function* () {
      const server = yield* Cluster.make()
      for (const name of ["a", "b", "c", "d"]) server.put(Widget, widget(name))
      const busy = { one: 0, two: 0, three: 0 }
      const make = (name: keyof typeof busy) =>
        Controller.make(name, {
          for: Widget,
          concurrency: 3,
          owns: [ConfigMap],
          reconcile: () =>
            Effect.as(
              Effect.sync(() => busy[name]++),
              Result.done
            ).pipe(Effect.tap(Effect.sleep("1 second")))
        })
      const workers = { one: 1, two: 2 }
      const { stop } = yield* start(server, [make("one"), make("two"), make("three")], { workers })
      expect(busy).toEqual({ one: 1, two: 2, three: 3 })
      expect(Cluster.lines(server.requests)).toEqual([
        "list /apis/example.com/v1/widgets",
        "list /api/v1/configmaps",
        "watch /apis/example.com/v1/widgets",
        "watch /api/v1/configmaps"
      ])
      yield* TestClock.adjust("5 seconds")
      yield* stop
    })
  )

  effect("start independently: one that cannot start does not affect the others", () =>
    Effect.gen(function* () {
      const server = yield* Cluster.make()
      server.put(Widget, widget("a"))
      const forbidden = server.faults.on({ verb: ["list", "watch"], kind: Secret }, Faults.answer(403))
      const stuck = done()
      const fine = done()
      const { runners, stop } = yield* start(server, [
        Controller.make("stuck", { for: Widget, owns: [Secret], reconcile: stuck.reconcile }),
        Controller.make("fine", { for: Widget, owns: [ConfigMap], reconcile: fine.reconcile })
      ])
      expect(runners.map(({ controller }) => controller)).toEqual(["stuck", "fine"])
      expect([stuck.names(), fine.names()]).toEqual([[], ["a"]])
      expect(runners[0]?.informers.map((informer) => informer.state().status)).toEqual(["synced", "failing"])
      forbidden.remove()
      yield* TestClock.adjust("5 seconds")
      expect(stuck.names()).toEqual(["a"])
      yield* stop
    })
  )

  effect("get the objects of the manager's namespaces and selector", () =>
    Effect.gen(function* () {
      const server = yield* Cluster.make()
      for (const namespace of ["one", "two", "three"]) {
        for (const tier of ["gold", "tin"]) {
          server.put(Widget, {
            ...widget(tier),
            metadata: { name: `${namespace}-${tier}`, namespace, labels: { tier } }
          })
        }
      }
      const { names, reconcile } = done()
      const controller = Controller.make("widgets", { for: Widget, reconcile })
      const { stop } = yield* start(server, [controller], { namespaces: ["one", "two"], labelSelector: "tier=gold" })
      expect(names().sort()).toEqual(["one-gold", "two-gold"])
      yield* stop
    })
  )
})

effect("A manager drops the journal of an object one hour after the object is deleted", () =>
  Effect.gen(function* () {
    const server = yield* Cluster.make()
    server.put(Widget, widget("a"))
    server.put(Widget, widget("b"))
    const controller = Controller.make("widgets", { for: Widget, reconcile: done().reconcile })
    // Moving the wall clock instead of virtual time skips an hour of timers.
    const wall = yield* WallClock.make
    const { runners, stop } = yield* start(server, [controller], { clock: wall.clock })
    const known = () => ["default/a", "default/b"].filter((key) => runners[0]?.journal.of(key) !== undefined)
    server.remove(Widget, "a")
    yield* settle
    wall.set(58 * 60_000)
    yield* TestClock.adjust("1 minute")
    expect(known()).toEqual(["default/a", "default/b"])
    wall.set(60 * 60_000)
    yield* TestClock.adjust("1 minute")
    expect(known()).toEqual(["default/b"])
    yield* stop
  })
)

describe("A manager that stops", () => {
  const slow = (name: string, ends: Array<string>) =>
    Controller.make(name, {
      for: Widget,
      reconcile: (owner) =>
        EventRecorder.record({ regarding: owner, type: "Normal", reason: "Done", note: `${name} is done` }).pipe(
          Effect.delay("200 millis"),
          Effect.andThen(Effect.sync(() => void ends.push(name))),
          Effect.onInterrupt(() => Effect.sync(() => void ends.push(`${name} interrupted`))),
          Effect.as(Result.done)
        )
    })

  effect("lets its controllers finish in parallel, writes their last Events, and then closes its watches", () =>
    Effect.gen(function* () {
      const server = yield* Cluster.make()
      server.put(Widget, widget("a"))
      const ends: Array<string> = []
      const { stop } = yield* start(server, [slow("one", ends), slow("two", ends), slow("three", ends)], {
        gracePeriod: "300 millis"
      })
      expect(server.faults.watches()).toBe(1)
      const stopping = yield* stop
      yield* TestClock.adjust("190 millis")
      expect(yield* ended(stopping)).toBe(false)
      expect(server.faults.watches()).toBe(1)
      yield* TestClock.adjust("20 millis")
      expect(yield* ended(stopping)).toBe(true)
      expect(ends.sort()).toEqual(["one", "three", "two"])
      expect(server.events()).toHaveLength(3)
      expect(server.faults.watches()).toBe(0)
    })
  )

  effect("interrupts the remaining reconciles after one grace period", () =>
    Effect.gen(function* () {
      const server = yield* Cluster.make()
      server.put(Widget, widget("a"))
      const ends: Array<string> = []
      const { stop } = yield* start(server, [slow("one", ends), slow("two", ends)], { gracePeriod: "100 millis" })
      const stopping = yield* stop
      yield* TestClock.adjust("110 millis")
      expect(yield* ended(stopping)).toBe(true)
      expect(ends.sort()).toEqual(["one interrupted", "two interrupted"])
    })
  )

  effect("ends even if the API server no longer answers", () =>
    Effect.gen(function* () {
      const server = yield* Cluster.make()
      server.put(Widget, widget("a"))
      const controller = Controller.make("widgets", {
        for: Widget,
        reconcile: (owner) =>
          Effect.gen(function* () {
            yield* EventRecorder.record({ regarding: owner, type: "Normal", reason: "Tried", note: "tried" })
            yield* Client.get(ConfigMap, { namespace: "default", name: "a" })
            return Result.done
          })
      })
      server.faults.on({ verb: ["get", "list", "create"] }, Faults.held)
      const { stop } = yield* start(server, [controller], { gracePeriod: "100 millis" })
      const stopping = yield* stop
      yield* TestClock.adjust("4 seconds")
      expect(yield* ended(stopping)).toBe(true)
    })
  )
})
