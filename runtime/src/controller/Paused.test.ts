import { describe, expect, test } from "bun:test"
import * as Faults from "@homeostat/testkit/Faults"
import { effect } from "@homeostat/testkit/Test"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Cluster from "../client/Cluster.fixture.ts"
import * as EventRecorder from "../events/EventRecorder.ts"
import { ConfigMap } from "../resource/BuiltIn.ts"
import type { KubernetesObject } from "../resource/KubernetesObject.ts"
import * as Metrics from "../telemetry/Metrics.ts"
import { reading } from "../telemetry/Reading.fixture.ts"
import * as Controller from "./Controller.ts"
import * as Owned from "./Owned.ts"
import * as Paused from "./Paused.ts"
import * as Predicate from "./Predicate.ts"
import * as Result from "./Result.ts"
import * as RunnerFixture from "./Runner.fixture.ts"
import type * as Runner from "./Runner.ts"
import * as Status from "./Status.ts"
import * as Trigger from "./Trigger.ts"
import { counted, pass, run, settle, story, Widget, widget, withWorld } from "./World.fixture.ts"

const annotate = (server: Cluster.Cluster, value: string | null): void =>
  server.change(Widget, "a", { metadata: { annotations: { [Paused.annotation]: value } } })

const conditionsOf = (server: Cluster.Cluster) =>
  (server.get(Widget, "a")?.status?.conditions ?? []).map(
    ({ message, reason, status, type }) => `${type} ${status} ${reason}: ${message}`
  )

const shown = (why: string) =>
  `Paused True PausedByAnnotation: The annotation homeostat.dev/paused pauses this object${why === "" ? "" : `: ${why}`}`

/** A reconcile that applies a child and a status. */
const applies = (result: Effect.Effect<Result.Result, string> = Effect.succeed(Result.done)) =>
  counted((_, owner) =>
    Effect.gen(function* () {
      const { metadata, spec } = owner
      yield* Owned.apply(owner, ConfigMap, { metadata: { name: metadata.name }, data: { size: `${spec.size}` } })
      yield* Status.update(owner, { ...owner.status, seen: spec.size })
      return yield* result
    })
  )

const writesOf = (server: Cluster.Cluster) => Cluster.lines(server.writes()).filter((line) => !line.includes("/events"))

const sizeIn = (server: Cluster.Cluster) => server.get(ConfigMap, "a")?.data?.size

const events = (server: Cluster.Cluster) =>
  Effect.map(settle, () =>
    server.events().flatMap(({ note, reason }) => (note?.includes("annotation") ? [reason] : []))
  )

describe("The reason of a pause", () => {
  const object = (value?: string, rest: object = {}): KubernetesObject => ({
    apiVersion: "v1",
    kind: "X",
    metadata: {
      name: "a",
      uid: "u",
      resourceVersion: "1",
      creationTimestamp: "",
      ...(value !== undefined && { annotations: { [Paused.annotation]: value } }),
      ...rest
    }
  })
  const rows: ReadonlyArray<readonly [about: string, object: KubernetesObject, reason: string | undefined]> = [
    ["without the annotation", object(), undefined],
    ["for false", object("false"), undefined],
    ["for a deletion", object("true", { deletionTimestamp: "2026-11-20T09:00:00Z" }), undefined],
    ["for an empty value", object(""), ""],
    ["for a text", object("maintenance until 18:00"), "maintenance until 18:00"],
    ["for several lines", object("  one\n\ttwo "), "one two"],
    ["for control characters", object("a\u001b[31m\u202eb"), "a\\u001b[31m\\u202eb"],
    ["for a long text", object("ä".repeat(300)), `${"ä".repeat(256)}…`]
  ]
  test.each(rows)("%s is one printable line", (_, object, reason) => {
    expect(Paused.reasonOf(object)).toBe(reason)
  })

  test("is short for a value of 100 KiB", () => {
    expect(Buffer.byteLength(Paused.reasonOf(object("\u0007".repeat(100_000))) ?? "")).toBeLessThan(2048)
  })
})

/** A way into the queue: the settings, what happens before the pause, and what then asks for a reconcile. */
interface Way {
  readonly result?: Effect.Effect<Result.Result, string>
  readonly settings?: Runner.Settings
  readonly isPausedFirst?: boolean
  readonly disturb: (server: Cluster.Cluster) => void
  readonly wait?: Duration.Input
}

const ways: { readonly [name: string]: Way } = {
  "the first list": { isPausedFirst: true, disturb: () => {} },
  "a change of its spec": { disturb: (server) => server.change(Widget, "a", { spec: { size: 2 } }) },
  "a change of its labels": { disturb: (server) => server.change(Widget, "a", { metadata: { labels: { a: "b" } } }) },
  "a change of a child": { disturb: (server) => server.change(ConfigMap, "a", { data: { size: "9" } }) },
  "the deletion of a child": { disturb: (server) => server.remove(ConfigMap, "a") },
  "a change of another object": {
    disturb: (server) => server.put(ConfigMap, { metadata: { name: "other" }, data: { users: "a" } })
  },
  requeueAfter: { result: Effect.succeed(Result.requeueAfter("1 minute")), disturb: () => {}, wait: "2 minutes" },
  "a requeue": { result: Effect.succeed(Result.requeue), disturb: () => {}, wait: "2 minutes" },
  "a retry": { result: Effect.fail("broken"), disturb: () => {}, wait: "2 minutes" },
  "the resync": { settings: { syncPeriod: "1 hour" }, disturb: () => {}, wait: "2 hours" }
}

describe("A paused object", () => {
  for (const [name, { disturb, isPausedFirst = false, result, settings, wait = "1 minute" }] of Object.entries(ways)) {
    effect(
      `is not reconciled after ${name}, and is reconciled at once after the pause`,
      withWorld(({ server }) =>
        Effect.gen(function* () {
          server.put(Widget, widget("a"))
          if (isPausedFirst) annotate(server, "maintenance")
          const { reconcile, runs } = applies(result)
          const used = Trigger.on(ConfigMap, {
            map: ({ data }) => (data?.users === undefined ? [] : [{ namespace: "default", name: data.users }])
          })
          yield* run({ reconcile, owns: [ConfigMap], watches: [used], retry: Schedule.spaced("10 seconds") }, settings)
          annotate(server, "maintenance")
          yield* settle
          const [before, calls] = [writesOf(server), runs.length]
          expect(conditionsOf(server)).toContain(shown("maintenance"))

          disturb(server)
          yield* pass(wait)
          expect(writesOf(server).slice(before.length)).toEqual([])
          expect(runs.length).toBe(calls)

          annotate(server, null)
          yield* settle
          expect(runs.length).toBeGreaterThan(calls)
          expect(sizeIn(server)).toBe(`${server.get(Widget, "a")?.spec.size}`)
          expect(conditionsOf(server).filter((line) => line.startsWith("Paused"))).toEqual([])
          expect(yield* events(server)).toEqual(["Paused", "Resumed"])
        })
      )
    )
  }

  effect(
    "is counted, and costs one write of the status",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        const metrics = yield* Metrics.Metrics
        const count = () =>
          reading(metrics, "homeostat_objects")['homeostat_objects{controller="widgets",state="Paused"}']
        server.put(Widget, widget("a"))
        const { reconcile } = applies()
        yield* run({ reconcile, owns: [ConfigMap] })
        expect(count()).toBe(0)
        const before = writesOf(server).length
        annotate(server, "true")
        yield* settle
        expect(writesOf(server).slice(before)).toEqual([
          "patch /apis/example.com/v1/namespaces/default/widgets/a/status"
        ])
        expect(server.get(Widget, "a")?.status).toMatchObject({ seen: 1 })
        expect(conditionsOf(server)).toEqual([shown("")])
        expect(count()).toBe(1)
        expect(story(attempts.slice(-2))).toEqual(["Done", "Done"])
        annotate(server, null)
        yield* settle
        expect(count()).toBe(0)
        annotate(server, "true")
        yield* settle
        server.remove(Widget, "a")
        yield* settle
        expect(count()).toBe(0)
      })
    )
  )

  effect(
    "shows a new reason, and keeps the conditions of its controller",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const facts = { reason: "Fine", message: "" }
        const { reconcile } = counted((_, owner) => Effect.as(Status.ready(owner, facts), Result.done))
        yield* run({ reconcile })
        annotate(server, "one")
        yield* settle
        expect(conditionsOf(server)).toEqual(["Ready True Fine: ", shown("one")])
        annotate(server, "two")
        yield* settle
        expect(conditionsOf(server)).toEqual(["Ready True Fine: ", shown("two")])
        annotate(server, "false")
        yield* settle
        expect(conditionsOf(server)).toEqual(["Ready True Fine: "])
      })
    )
  )

  effect(
    "is not hidden by a predicate",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const { reconcile, runs } = applies()
        yield* run({ reconcile, owns: [ConfigMap], predicate: Predicate.generationChanged })
        const { length } = runs
        annotate(server, "x")
        yield* settle
        expect(conditionsOf(server)).toEqual([shown("x")])
        server.change(Widget, "a", { spec: { size: 2 } })
        yield* settle
        expect(runs).toHaveLength(length)
        annotate(server, null)
        yield* settle
        expect(sizeIn(server)).toBe("2")
      })
    )
  )

  effect(
    "has no condition of a controller that does not select it",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const { reconcile, runs } = applies()
        yield* run({ reconcile, owns: [ConfigMap], when: ({ spec }) => spec.size === 2 })
        annotate(server, "x")
        yield* settle
        expect([conditionsOf(server), yield* events(server)]).toEqual([[], []])
        server.change(Widget, "a", { spec: { size: 2 } })
        yield* settle
        expect([conditionsOf(server), runs.length]).toEqual([[shown("x")], 0])
      })
    )
  )

  effect(
    "is paused for each controller of its kind, also with a clean-up, which its deletion runs",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const [one, two] = [applies(), applies()]
        let cleaned = 0
        const cleanup = () => Effect.sync(() => void cleaned++)
        const start = (name: string, { reconcile }: typeof one, finalizer: boolean) =>
          RunnerFixture.start(
            Controller.make(name, {
              for: Widget,
              reconcile,
              owns: [ConfigMap],
              ...(finalizer && { finalizer: { name: "example.com/x", cleanup } })
            }),
            { gracePeriod: 0, syncPeriod: 0 }
          )
        yield* start("one", one, true)
        yield* start("two", two, false)
        yield* settle
        annotate(server, "x")
        yield* settle
        const runs = one.runs.length + two.runs.length
        server.change(Widget, "a", { spec: { size: 2 } })
        yield* pass("1 minute")
        expect(one.runs.length + two.runs.length).toBe(runs)
        server.remove(Widget, "a")
        yield* settle
        expect([cleaned, server.get(Widget, "a")]).toEqual([1, undefined])
      })
    )
  )

  effect(
    "of a kind without conditions has only an Event",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(ConfigMap, { metadata: { name: "a", annotations: { [Paused.annotation]: "x" } } })
        let runs = 0
        const controller = Controller.make("maps", {
          for: ConfigMap,
          reconcile: () =>
            Effect.sync(() => {
              runs++
              return Result.done
            })
        })
        yield* RunnerFixture.start(controller, { gracePeriod: 0, syncPeriod: "1 hour" })
        yield* pass("3 hours")
        yield* Effect.flatMap(EventRecorder.EventRecorder, ({ flush }) => flush)
        expect(yield* events(server)).toEqual(["Paused"])
        expect(runs).toBe(0)
        server.change(ConfigMap, "a", { metadata: { annotations: { [Paused.annotation]: null } } })
        yield* settle
        expect(runs).toBe(1)
      })
    )
  )

  effect(
    "of an earlier process is resumed by the next one, without the condition in the status that the controller sees",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        const lastTransitionTime = "2026-11-20T09:00:00Z"
        const paused = {
          type: "Paused",
          status: "True",
          reason: "PausedByAnnotation",
          message: "x",
          lastTransitionTime
        }
        const own = { ...paused, reason: "Own" }
        for (const [name, condition] of Object.entries({ a: paused, b: own }))
          server.put(Widget, { ...widget(name), status: { conditions: [condition] } })
        const { reconcile, runs } = applies()
        yield* run({ reconcile, owns: [ConfigMap] })
        expect(conditionsOf(server)).toEqual([])
        expect(runs.find(({ name }) => name === "a")?.widget.status?.conditions).toEqual([])
        expect(server.get(Widget, "b")?.status?.conditions).toEqual([own] as never)
      })
    )
  )

  for (const code of [403, 404, 422]) {
    effect(
      `is paused and resumed without its status, which the API server refuses with ${code}`,
      withWorld(({ attempts, server }) =>
        Effect.gen(function* () {
          const paused = { type: "Paused", status: "True", reason: "PausedByAnnotation", message: "x" }
          const conditions = [{ ...paused, lastTransitionTime: "2026-11-20T09:00:00Z" }]
          server.put(Widget, { ...widget("a"), status: { conditions } })
          server.faults.on({ subresource: "status" }, Faults.answer(code))
          const { reconcile, runs } = counted(() => Effect.succeed(Result.done))
          yield* run({ reconcile })
          expect(runs.map(({ widget }) => widget.status?.conditions)).toEqual([[]])
          annotate(server, "y")
          yield* settle
          expect(runs).toHaveLength(1)
          expect(new Set(story(attempts))).toEqual(new Set(["Done"]))
        })
      )
    )
  }

  effect(
    "shows the pause after a conflict",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        annotate(server, "x")
        server.faults.on({ subresource: "status" }, Faults.conflict, { times: 1 })
        yield* run({ reconcile: applies().reconcile, owns: [ConfigMap], retry: Schedule.spaced("1 second") })
        expect(story(attempts)).toEqual(["Failed +1000"])
        yield* pass("1 second")
        expect(conditionsOf(server)).toEqual([shown("x")])
      })
    )
  )
})
