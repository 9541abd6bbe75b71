import { describe, expect, test } from "bun:test"
import { effect } from "@homeostat/testkit/Test"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as EffectResult from "effect/Result"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import * as Client from "../client/Client.ts"
import * as Cluster from "../client/Cluster.fixture.ts"
import * as Attempt from "../controller/Attempt.ts"
import * as Controller from "../controller/Controller.ts"
import * as Owned from "../controller/Owned.ts"
import * as Result from "../controller/Result.ts"
import { capture, settle, story, Widget, widget } from "../controller/World.fixture.ts"
import * as EventRecorder from "../events/EventRecorder.ts"
import { ConfigMap, Event, Lease, TokenReview } from "../resource/BuiltIn.ts"
import * as Metrics from "../telemetry/Metrics.ts"
import { reading } from "../telemetry/Reading.fixture.ts"
import * as HealthFixture from "./Health.fixture.ts"
import * as Health from "./Health.ts"
import * as LeaderElection from "./LeaderElection.ts"
import * as LeaseStop from "./LeaseStop.ts"
import * as Manager from "./Manager.ts"
import * as Replica from "./Replica.fixture.ts"

const minute = 60_000
const hour = 60 * minute
const at = (millis: number) => new Date(millis).toISOString().replace(".000", "")

const annotate = (server: Cluster.Cluster, until: string | null, reason: string | null = null): void =>
  server.change(Lease, Replica.place.name, {
    metadata: { annotations: { [LeaseStop.untilAnnotation]: until, [LeaseStop.reasonAnnotation]: reason } }
  })

/** A manager whose controller applies a ConfigMap of each Widget's size. */
const start = (
  server: Cluster.Cluster,
  identity: string,
  reconcile: (widget: typeof Widget.Type) => Effect.Effect<Result.Result, unknown, Client.Client> = () =>
    Effect.succeed(Result.done),
  lease: Partial<LeaderElection.Settings> = {}
) =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    const logs: Array<string> = []
    const attempts: Array<Attempt.Attempt> = []
    const metrics = Metrics.make()
    const { checks, health } = HealthFixture.readiness()
    const controller = Controller.make("widgets", {
      for: Widget,
      owns: [ConfigMap],
      retry: Schedule.spaced("10 seconds"),
      reconcile: (owner) =>
        Effect.andThen(
          Owned.apply(owner, ConfigMap, {
            metadata: { name: owner.metadata.name },
            data: { size: `${owner.spec.size}` }
          }),
          reconcile(owner)
        )
    })
    const leaderElection = EffectResult.getOrThrow(LeaderElection.make({ ...Replica.place, identity, ...lease }))
    const services = yield* Layer.buildWithScope(
      Manager.layer({ instance: identity, metrics }).pipe(Layer.provide(server.transport)),
      scope
    )
    yield* Manager.start([controller], { gracePeriod: 0, syncPeriod: "5 minutes", leaderElection }).pipe(
      Effect.provide(services),
      Effect.provideService(Health.Health, health),
      Effect.provideService(Attempt.Observers, [(each) => Effect.sync(() => void attempts.push(each)), Attempt.log]),
      Effect.provide(capture(logs)),
      Scope.provide(scope)
    )
    yield* settle
    const check = (): unknown => {
      const found = checks.get("leader-election")
      return typeof found === "function" ? found() : expect.unreachable("no check")
    }
    return {
      logs,
      attempts,
      services,
      check,
      state: leaderElection.state,
      stopped: () => reading(metrics, "homeostat_writes_stopped"),
      end: Effect.andThen(Effect.forkChild(Scope.close(scope, Exit.void)), TestClock.adjust("10 seconds"))
    }
  })

/** The writes since a moment, without those of the Lease. */
const writesSince = (server: Cluster.Cluster, from: number) =>
  Cluster.lines(server.writes().slice(from)).filter((line) => !line.includes("/leases"))

const sizes = (server: Cluster.Cluster) => server.list(ConfigMap).map(({ data }) => data?.size)

const told = (server: Cluster.Cluster) =>
  server.list(Event).flatMap(({ note, reason }) => (/^Writes/.test(reason ?? "") ? [`${reason}: ${note}`] : []))

describe("A stop of all writes", () => {
  const rows: ReadonlyArray<readonly [text: string, until: number | undefined]> = [
    ["2026-11-20T09:00:00Z", Date.parse("2026-11-20T09:00:00Z")],
    ["2026-11-20T10:00:00+01:00", Date.parse("2026-11-20T09:00:00Z")],
    ["2026-11-20t09:00:00.5z", Date.parse("2026-11-20T09:00:00.5Z")],
    ["9999-01-01T00:00:00Z", Date.parse("2026-11-20T08:00:00Z") + LeaseStop.longestMillis],
    ["2026-11-20T07:59:59Z", undefined],
    ["2026-11-20", undefined],
    ["1h", undefined],
    ["", undefined]
  ]
  test.each(rows)("ends at %p", (text, until) => {
    const metadata = { annotations: { [LeaseStop.untilAnnotation]: text } } as unknown as Lease["metadata"]
    expect(LeaseStop.of({ metadata } as Lease, Date.parse("2026-11-20T08:00:00Z"))?.until).toBe(until as never)
  })

  effect("holds all writes but those of the Lease, shows itself, and ends by itself without a burned retry", () =>
    Effect.gen(function* () {
      const server = yield* Cluster.make([Widget])
      server.put(Widget, widget("a"))
      const manager = yield* start(server, "one", () => Effect.fail("broken"))
      expect(story(manager.attempts)).toEqual(["Failed +10000"])
      expect(manager.stopped()).toEqual({ 'homeostat_writes_stopped{name="homeostat"}': 0 })

      annotate(server, at(10 * minute), "restore of\n etcd")
      yield* TestClock.adjust("3 seconds")
      const line = "All writes are stopped until 1970-01-01T00:10:00Z: restore of etcd"
      expect(told(server)).toEqual([`WritesStopped: ${line}`])
      expect(manager.logs).toContain(`WARN ${line} (annotation of the Lease default/homeostat)`)
      expect(manager.stopped()).toEqual({ 'homeostat_writes_stopped{name="homeostat"}': 1 })
      expect(manager.check()).toEqual({ note: line })
      expect(manager.state().stop).toEqual({ until: 10 * minute, reason: "restore of etcd" })
      const [from, tries] = [server.writes().length, manager.attempts.length]
      server.change(Widget, "a", { spec: { size: 2 } })
      server.put(Widget, widget("b", 7))
      const { record } = Context.get(manager.services, EventRecorder.EventRecorder)
      const regarding = server.get(Widget, "a") ?? expect.unreachable("no Widget")
      yield* record({ regarding, type: "Normal", reason: "Waits", note: "an Event of an author" })
      yield* TestClock.adjust("9 minutes")
      expect(writesSince(server, from)).toEqual([])
      expect(server.writes().length).toBeGreaterThan(from + 200)
      expect(manager.attempts.slice(tries)).toEqual([])
      expect(sizes(server)).toEqual(["1"])

      yield* TestClock.adjust("1 minute")
      expect(sizes(server)).toEqual(["2", "7"])
      // The first attempt of each object. A resync may bring a second one in the seconds after the stop.
      const firsts = new Map(
        manager.attempts
          .slice(tries)
          .reverse()
          .map(({ key, number }) => [key, number])
      )
      expect(Object.fromEntries(firsts)).toEqual({ "default/a": 1, "default/b": 1 })
      expect(server.list(Event).map(({ reason }) => reason)).toEqual(expect.arrayContaining(["Waits", "WritesResumed"]))
      expect(manager.logs).toContain("INFO Writes go on: the stop of all writes is over")
      expect(manager.stopped()).toEqual({ 'homeostat_writes_stopped{name="homeostat"}': 0 })
      expect(manager.check()).toBeUndefined()
      yield* manager.end
    })
  )

  effect("ends after a day if its annotation has a later time", () =>
    Effect.gen(function* () {
      const server = yield* Cluster.make([Widget])
      server.put(Widget, widget("a"))
      // A replica that renews its Lease 43,200 times in this day would take half a minute.
      const rare = { leaseDuration: "1 hour", renewDeadline: "45 minutes", retryPeriod: "15 minutes" } as const
      const manager = yield* start(server, "one", undefined, rare)
      annotate(server, "9999-01-01T00:00:00Z")
      yield* TestClock.adjust("15 minutes")
      server.change(Widget, "a", { spec: { size: 2 } })
      yield* TestClock.adjust("23 hours")
      expect(sizes(server)).toEqual(["1"])
      yield* TestClock.adjust("75 minutes")
      expect(sizes(server)).toEqual(["2"])
      yield* manager.end
    })
  )

  effect("ends when its annotation goes, and a reconcile that it has interrupted runs again", () =>
    Effect.gen(function* () {
      const server = yield* Cluster.make([Widget])
      const second = { metadata: { name: "late" }, data: {} }
      let runs = 0
      const manager = yield* start(server, "one", (owner) =>
        Effect.gen(function* () {
          runs++
          yield* Effect.sleep("5 seconds")
          yield* Client.create(ConfigMap, {
            ...second,
            metadata: { ...second.metadata, namespace: owner.metadata.namespace ?? "" }
          })
          return Result.done
        })
      )
      server.put(Widget, widget("a"))
      yield* settle
      annotate(server, at(hour))
      yield* TestClock.adjust("30 seconds")
      expect([runs, sizes(server)]).toEqual([1, ["1"]])
      expect(story(manager.attempts)).toEqual(["Interrupted"])
      annotate(server, null)
      yield* TestClock.adjust("10 seconds")
      expect(runs).toBe(2)
      expect(server.get(ConfigMap, "late")).toBeDefined()
      yield* manager.end
    })
  )

  effect("holds for the next leader and after a restart", () =>
    Effect.gen(function* () {
      const server = yield* Cluster.make([Widget])
      const [one, two] = [yield* start(server, "one"), yield* start(server, "two")]
      annotate(server, at(10 * minute))
      yield* TestClock.adjust("3 seconds")
      expect([one.state().stop, two.state().stop]).toEqual([
        { until: 10 * minute, reason: "" },
        { until: 10 * minute, reason: "" }
      ])
      server.put(Widget, widget("a"))
      yield* one.end
      expect(two.state()).toMatchObject({ leading: true, stop: { until: 10 * minute } })
      yield* two.end
      const three = yield* start(server, "three")
      yield* TestClock.adjust("1 minute")
      expect([three.state().leading, sizes(server)]).toEqual([true, []])
      expect(told(server)).toHaveLength(1)
      yield* TestClock.adjust("10 minutes")
      expect(sizes(server)).toEqual(["1"])
      yield* three.end
    })
  )

  effect("does not begin with an invalid time, which the log names", () =>
    Effect.gen(function* () {
      const server = yield* Cluster.make([Widget])
      const manager = yield* start(server, "one")
      annotate(server, "soon\u001b")
      yield* TestClock.adjust("3 seconds")
      expect(manager.state().stop).toBeUndefined()
      expect(manager.logs.filter((line) => line.includes("stops nothing"))).toEqual([
        `WARN the annotation ${LeaseStop.untilAnnotation} of the Lease default/homeostat stops nothing: "soon\\\\u001b" (must be a time, such as 2026-11-20T09:00:00Z)`
      ])
      yield* manager.end
    })
  )

  effect("does not stop reviews of callers", () =>
    Effect.gen(function* () {
      const server = yield* Cluster.make([Widget])
      const manager = yield* start(server, "one")
      annotate(server, at(hour))
      yield* TestClock.adjust("3 seconds")
      const review = Client.create(TokenReview, { metadata: { name: "" }, spec: { token: "x" } } as never)
      const map = Client.create(ConfigMap, { metadata: { namespace: "default", name: "x" } })
      const [reviewed, written] = yield* Effect.all([Effect.exit(review), Effect.flip(map)]).pipe(
        Effect.provide(manager.services)
      )
      expect(JSON.stringify(reviewed)).not.toContain("Fenced")
      expect(written).toMatchObject({
        _tag: "Fenced",
        message:
          "POST /api/v1/namespaces/default/configmaps: not sent, All writes are stopped until 1970-01-01T01:00:00Z"
      })
      yield* manager.end
    })
  )
})
