import { describe, expect } from "bun:test"
import * as Faults from "@homeostat/testkit/Faults"
import { effect } from "@homeostat/testkit/Test"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Scope from "effect/Scope"
import * as Tracer from "effect/Tracer"
import * as TestClock from "effect/testing/TestClock"
import * as Client from "../client/Client.ts"
import * as Cluster from "../client/Cluster.fixture.ts"
import { FieldManager } from "../client/FieldManager.ts"
import { Event, Namespace } from "../resource/BuiltIn.ts"
import type { KubernetesObject } from "../resource/KubernetesObject.ts"
import * as Recording from "../telemetry/Recording.ts"
import * as EventRecorder from "./EventRecorder.ts"

const object = (name = "a", namespace: string | undefined = "shop"): KubernetesObject => ({
  apiVersion: "example.com/v1",
  kind: "Widget",
  metadata: {
    name,
    uid: `uid-${name}`,
    resourceVersion: "7",
    creationTimestamp: "2026-11-20T00:00:00Z",
    ...(namespace === "" ? {} : { namespace })
  }
})

const entry = (over: Partial<EventRecorder.EventFields> = {}): EventRecorder.EventFields => ({
  regarding: object(),
  type: "Normal",
  reason: "PartMade",
  note: "Made a part",
  ...over
})

/** A recorder on a server, and the end of its scope. */
const start = Effect.gen(function* () {
  const server = yield* Cluster.make()
  server.put(Namespace, { metadata: { name: "shop" } })
  const scope = yield* Scope.make()
  const context = yield* EventRecorder.layer({ instance: "pod-1" }).pipe(
    Layer.provide(Client.layer().pipe(Layer.provide(server.transport))),
    Layer.provideMerge(Logger.layer([])),
    Layer.buildWithScope(scope)
  )
  const recorder = Context.get(context, EventRecorder.EventRecorder)
  const record = (over?: Partial<EventRecorder.EventFields>) => recorder.record(entry(over))
  return { server, recorder, record, close: Effect.forkChild(Scope.close(scope, Exit.void)) }
})

const settle = TestClock.adjust(0)

const events = (server: Cluster.Cluster) => server.events()

const patches = (server: Cluster.Cluster) =>
  server.writes().flatMap(({ body, verb }) => (verb === "patch" ? [body] : []))

const isDone = (fiber: Fiber.Fiber<unknown>) => Effect.sync(() => fiber.pollUnsafe() !== undefined)

describe("An Event", () => {
  effect("contains the object, the reason, the reporter and the time", () =>
    Effect.gen(function* () {
      const { close, record, server } = yield* start
      yield* TestClock.adjust("1250 millis")
      yield* Effect.provideService(record({ action: "Make" }), FieldManager, "widgets")
      yield* settle
      expect(server.events()).toHaveLength(1)
      expect(events(server)[0]).toMatchObject({
        metadata: { namespace: "shop" },
        eventTime: "1970-01-01T00:00:01.250000Z",
        type: "Normal",
        reason: "PartMade",
        action: "Make",
        note: "Made a part",
        reportingController: "widgets",
        reportingInstance: "pod-1",
        regarding: {
          apiVersion: "example.com/v1",
          kind: "Widget",
          namespace: "shop",
          name: "a",
          uid: "uid-a",
          resourceVersion: "7"
        }
      })
      expect(events(server)[0]?.metadata.name).toMatch(/^a\.[0-9a-f]+$/)
      yield* Fiber.join(yield* close)
    })
  )

  effect("names a related object, if there is one", () =>
    Effect.gen(function* () {
      const { close, record, server } = yield* start
      yield* record()
      yield* record({ related: object("node", "") })
      yield* settle
      const written = events(server)
      expect(written.map((each) => "related" in each).toSorted()).toEqual([false, true])
      expect(written.find((each) => "related" in each)).toMatchObject({
        metadata: { namespace: "shop" },
        regarding: { name: "a" },
        related: { apiVersion: "example.com/v1", kind: "Widget", name: "node", uid: "uid-node" }
      })
      yield* Fiber.join(yield* close)
    })
  )

  effect("has a note that a terminal can show", () =>
    Effect.gen(function* () {
      const { record, server } = yield* start
      yield* record({ note: "the key a\u001b[2J\u009b\u202e is unknown" })
      yield* settle
      expect(events(server)[0]).toMatchObject({ note: "the key a\\u001b[2J\\u009b\\u202e is unknown" })
    })
  )

  effect("has a later time than the previous Event, even within one millisecond", () =>
    Effect.gen(function* () {
      const { close, record, server } = yield* start
      for (const note of ["one", "two", "three"]) yield* record({ note })
      yield* settle
      yield* TestClock.adjust("1 millis")
      yield* record({ note: "four" })
      yield* settle
      expect(events(server).map(({ eventTime }) => eventTime)).toEqual([
        "1970-01-01T00:00:00.000000Z",
        "1970-01-01T00:00:00.000001Z",
        "1970-01-01T00:00:00.000002Z",
        "1970-01-01T00:00:00.001000Z"
      ])
      yield* Fiber.join(yield* close)
    })
  )

  for (const [name, prefix] of [
    ["system:Node", "system-node."],
    ["a--b.c", "a--b.c."],
    ["-x-.:.Ä", "x."],
    [":", ""]
  ] as const) {
    effect(`about an object with the name ${name} has a name that the API server accepts`, () =>
      Effect.gen(function* () {
        const { record, recorder, server } = yield* start
        yield* record({ regarding: object(name) })
        yield* settle
        expect(recorder.dropped()).toBe(0)
        expect(events(server).map(({ metadata }) => metadata.name.replace(/[0-9a-f]+$/, ""))).toEqual([prefix])
        expect(events(server)[0]).toMatchObject({ regarding: { name } })
      })
    )
  }

  effect("about a cluster-scoped object is in the namespace default", () =>
    Effect.gen(function* () {
      const { close, record, server } = yield* start
      yield* record({ regarding: object("node", "") })
      yield* settle
      expect(events(server)[0]).toMatchObject({ metadata: { namespace: "default" }, regarding: { name: "node" } })
      yield* Fiber.join(yield* close)
    })
  )

  effect("is truncated to the limit of the API server", () =>
    Effect.gen(function* () {
      const { close, record, server } = yield* start
      yield* record({ note: "x".repeat(5000) })
      yield* settle
      expect(events(server)[0]?.note).toHaveLength(1024)
      yield* Fiber.join(yield* close)
    })
  )

  effect("retains no memory of a long note, neither queued nor written", () =>
    Effect.gen(function* () {
      const { record, server } = yield* start
      const heap = (): number => {
        Bun.gc(true)
        return process.memoryUsage().heapUsed / 2 ** 20
      }
      const large = (index: number) => `${index} ${"A".repeat(1_000_000)}`
      const recordMany = (from: number) =>
        Effect.forEach(Array.from({ length: 100 }), (_, index) =>
          Effect.suspend(() => {
            const regarding = object()
            const annotations = { large: large(index) }
            return record({
              note: large(from + index),
              regarding: { ...regarding, metadata: { ...regarding.metadata, annotations } }
            })
          })
        )
      yield* record()
      yield* settle
      const before = heap()
      yield* recordMany(0)
      expect(heap() - before).toBeLessThan(20)
      yield* settle
      yield* recordMany(100)
      yield* settle
      expect(events(server)).toHaveLength(201)
      expect(heap() - before).toBeLessThan(20)
    })
  )
  effect("with another note, reason, type or object is a new Event", () =>
    Effect.gen(function* () {
      const { close, record, server } = yield* start
      yield* record()
      yield* record({ note: "Made another part" })
      yield* record({ reason: "PartBroken" })
      yield* record({ type: "Warning" })
      yield* record({ regarding: object("b") })
      yield* record({ related: object("c") })
      yield* record({ related: object("d") })
      yield* record({ related: object("d") })
      yield* settle
      expect(new Set(events(server).map(({ metadata }) => metadata.name)).size).toBe(7)
      expect(events(server)).toHaveLength(7)
      yield* Fiber.join(yield* close)
    })
  )
})

describe("The trace of an Event", () => {
  effect("is marked as referenced, unless the Event only increments a series of another trace", () =>
    Effect.gen(function* () {
      const { close, record, server } = yield* start
      const traced = (over?: Partial<EventRecorder.EventFields>) =>
        Effect.gen(function* () {
          const root = Recording.root("reconcile widgets", { startTime: 0n })
          if (over !== undefined) yield* Effect.provideService(record(over), Tracer.ParentSpan, root)
          yield* settle
          return [root.traceId, root.recording.hasEvent] as const
        })
      const [first, hasEvent] = yield* traced({})
      expect([hasEvent, (yield* traced({}))[1], (yield* traced({ note: "News" }))[1], (yield* traced())[1]]).toEqual([
        true,
        false,
        true,
        false
      ])
      expect(JSON.stringify(events(server)[0]?.metadata.annotations)).toContain(first)
      yield* TestClock.adjust(EventRecorder.seriesMillis)
      expect((yield* traced({}))[1]).toBe(true)
      yield* Fiber.join(yield* close)
    })
  )
})

describe("Repeated Events", () => {
  effect("form one series, which is written at most every ten seconds", () =>
    Effect.gen(function* () {
      const { close, record, server } = yield* start
      for (let n = 0; n < 25; n++) {
        yield* record()
        yield* TestClock.adjust("1 second")
      }
      expect(events(server)).toHaveLength(1)
      expect(patches(server)).toEqual([
        { series: { count: 10, lastObservedTime: "1970-01-01T00:00:09.000000Z" } },
        { series: { count: 20, lastObservedTime: "1970-01-01T00:00:19.000000Z" } }
      ])
      yield* TestClock.adjust("1 minute")
      expect(patches(server)).toHaveLength(3)
      expect(events(server)[0]?.series?.count).toBe(25)
      yield* Fiber.join(yield* close)
    })
  )

  effect("during the first write are counted after it", () =>
    Effect.gen(function* () {
      const { close, record, recorder, server } = yield* start
      const held = server.faults.on({ verb: "create", kind: Event }, Faults.held)
      for (let n = 0; n < 3; n++) yield* record()
      yield* TestClock.adjust("10 seconds")
      expect(patches(server)).toEqual([])
      held.remove()
      yield* settle
      expect(events(server).map(({ series }) => series?.count)).toEqual([3])
      expect(recorder.dropped()).toBe(0)
      yield* Fiber.join(yield* close)
    })
  )

  effect("during a rejected write are lost with it, and counted", () =>
    Effect.gen(function* () {
      const { close, record, recorder, server } = yield* start
      const held = server.faults.on({ verb: "create", kind: Event }, Faults.held)
      server.faults.on({ verb: "create", kind: Event }, Faults.answer(403), { times: 1 })
      for (let n = 0; n < 3; n++) yield* record()
      yield* settle
      held.remove()
      yield* settle
      expect(recorder.dropped()).toBe(3)
      yield* record()
      yield* settle
      expect(events(server)).toHaveLength(1)
      yield* Fiber.join(yield* close)
    })
  )

  effect("after ten minutes of silence start a new Event", () =>
    Effect.gen(function* () {
      const { close, record, server } = yield* start
      yield* record()
      yield* TestClock.adjust(EventRecorder.seriesMillis - 1)
      yield* record()
      yield* settle
      expect(events(server)).toHaveLength(1)
      yield* TestClock.adjust(EventRecorder.seriesMillis)
      yield* record()
      yield* settle
      expect(events(server)).toHaveLength(2)
      yield* Fiber.join(yield* close)
    })
  )

  effect("of a deleted Event start a new one", () =>
    Effect.gen(function* () {
      const { close, record, recorder, server } = yield* start
      yield* record()
      yield* settle
      const patched = server.faults.on({ verb: "patch", kind: Event }, Faults.answer(404))
      yield* record()
      yield* TestClock.adjust("10 seconds")
      patched.remove()
      yield* record()
      yield* settle
      expect(events(server)).toHaveLength(2)
      expect(recorder.dropped()).toBe(0)
      yield* Fiber.join(yield* close)
    })
  )

  effect("count as one lost Event when the API server rejects the patch", () =>
    Effect.gen(function* () {
      const { close, record, recorder, server } = yield* start
      yield* record()
      yield* settle
      server.faults.on({ verb: "patch", kind: Event }, Faults.answer(403))
      yield* record()
      yield* TestClock.adjust("10 seconds")
      expect(recorder.dropped()).toBe(1)
      yield* TestClock.adjust("1 minute")
      expect(recorder.dropped()).toBe(1)
      yield* Fiber.join(yield* close)
    })
  )
})

describe("The recorder", () => {
  effect("never blocks or fails; it counts lost Events, and writes later ones", () =>
    Effect.gen(function* () {
      const { close, record, recorder, server } = yield* start
      const held = server.faults.on({ verb: "create", kind: Event }, Faults.held)
      server.faults.on({ verb: "create", kind: Event }, Faults.answer(403), { times: 2 })
      for (const note of ["one", "two", "three"]) yield* record({ note })
      yield* TestClock.adjust("1 second")
      expect(events(server)).toEqual([])
      held.remove()
      yield* settle
      expect(events(server).map(({ note }) => note)).toEqual(["three"])
      expect(recorder.dropped()).toBe(2)
      yield* record({ note: "one" })
      yield* settle
      expect(events(server).map(({ note }) => note)).toEqual(["three", "one"])
      yield* Fiber.join(yield* close)
    })
  )

  effect("drops and counts the newest Events while 1,000 are queued", () =>
    Effect.gen(function* () {
      const { close, record, recorder, server } = yield* start
      const held = server.faults.on({ verb: "create", kind: Event }, Faults.held)
      const inProgress = ["one", "two", "three", "four"]
      for (const note of inProgress) yield* record({ note })
      yield* settle
      for (let n = 0; n < 1010; n++) yield* record({ note: `${n}` })
      expect(recorder.dropped()).toBe(10)
      held.remove()
      yield* settle
      expect(events(server).map(({ note }) => note)).toEqual([
        ...inProgress,
        ...Array.from({ length: 1000 }, (_, n) => `${n}`)
      ])
      yield* Fiber.join(yield* close)
    })
  )

  effect("writes four Events at a time, in order", () =>
    Effect.gen(function* () {
      const { close, record, server } = yield* start
      const notes = ["one", "two", "three", "four", "five", "six"]
      const held = server.faults.on({ verb: "create", kind: Event }, Faults.held)
      for (const note of notes) yield* record({ note })
      yield* settle
      expect(server.requests.filter(({ verb }) => verb === "create")).toHaveLength(4)
      held.remove()
      yield* settle
      expect(events(server).map(({ note }) => note)).toEqual(notes)
      yield* Fiber.join(yield* close)
    })
  )
})

describe("At shutdown,", () => {
  effect("the queued Events and the counts are written first", () =>
    Effect.gen(function* () {
      const { close, record, server } = yield* start
      yield* record()
      yield* record()
      yield* record({ note: "last words" })
      yield* Fiber.join(yield* close)
      expect(events(server).map(({ note, series }) => [note, series?.count])).toEqual([
        ["Made a part", 2],
        ["last words", undefined]
      ])
    })
  )

  effect("a write in progress is finished, and not repeated", () =>
    Effect.gen(function* () {
      const { close, record, server } = yield* start
      const held = server.faults.on({ verb: "create", kind: Event }, Faults.unanswered)
      yield* record()
      yield* settle
      const closing = yield* close
      yield* TestClock.adjust("1 second")
      expect(yield* isDone(closing)).toBe(false)
      held.remove()
      yield* settle
      expect(yield* isDone(closing)).toBe(true)
      expect(server.writes()).toHaveLength(1)
      expect(events(server)).toHaveLength(1)
    })
  )

  for (const part of ["request", "answer"] as const) {
    effect(`the recorder takes three seconds at most, however long the ${part} of a write takes`, () =>
      Effect.gen(function* () {
        const { close, record, server } = yield* start
        server.faults.on({ verb: "create", kind: Event }, part === "answer" ? Faults.unanswered : Faults.held)
        yield* record({ note: "in progress" })
        yield* settle
        yield* record({ note: "queued" })
        const closing = yield* close
        yield* TestClock.adjust("2900 millis")
        expect(yield* isDone(closing)).toBe(false)
        yield* TestClock.adjust("100 millis")
        expect(yield* isDone(closing)).toBe(true)
      })
    )
  }
})

describe("An Event that the API server would reject", () => {
  effect("is truncated by bytes, not by characters", () =>
    Effect.gen(function* () {
      const { record, server } = yield* start
      yield* record({ note: "é".repeat(600), reason: "R".repeat(200), regarding: object(`${"a".repeat(219)}-b`) })
      yield* settle
      const [event] = events(server)
      expect(event?.note).toBe("é".repeat(512))
      expect(event?.reason).toHaveLength(128)
      expect(event?.metadata.name).toMatch(/^a{219}\.[0-9a-f]+$/)
    })
  )
  effect("is lost without affecting later ones", () =>
    Effect.gen(function* () {
      const { record, recorder, server } = yield* start
      // A note that is absent despite the types.
      const nothing: { readonly note: string } = JSON.parse("{}")
      yield* recorder.record({ regarding: object(), type: "Normal", reason: "Odd", note: nothing.note })
      yield* record()
      yield* settle
      expect(events(server).map(({ reason }) => reason)).toEqual(["PartMade"])
      expect(recorder.dropped()).toBe(1)
    })
  )
})

describe("An unavailable API server", () => {
  effect("does not let retries fill the queue", () =>
    Effect.gen(function* () {
      const { record, recorder, server } = yield* start
      server.faults.on({ verb: "create", kind: Event }, Faults.refused)
      for (let each = 0; each < 900; each++) yield* record({ note: `a ${each}` })
      yield* TestClock.adjust("150 seconds")
      const lost = recorder.dropped()
      expect(lost).toBeGreaterThan(50)
      for (let each = 0; each < lost + 90; each++) yield* record({ note: `b ${each}` })
      expect(recorder.dropped()).toBe(lost)
    })
  )
})

describe("A flush", () => {
  effect("waits until all recorded Events are written", () =>
    Effect.gen(function* () {
      const { record, recorder, server } = yield* start
      const held = server.faults.on({ verb: "create", kind: Event }, Faults.held)
      yield* record()
      yield* record({ note: "Made another part" })
      const flushing = yield* Effect.forkChild(recorder.flush)
      yield* settle
      expect(yield* isDone(flushing)).toBe(false)
      held.remove()
      yield* settle
      expect(yield* isDone(flushing)).toBe(true)
      expect(events(server)).toHaveLength(2)
    })
  )

  effect("waits three seconds at most, even if it is uninterruptible", () =>
    Effect.gen(function* () {
      const { record, recorder, server } = yield* start
      server.faults.on({ verb: "create", kind: Event }, Faults.held)
      yield* record()
      const flushing = yield* Effect.forkChild(Effect.uninterruptible(recorder.flush))
      yield* TestClock.adjust("2900 millis")
      expect(yield* isDone(flushing)).toBe(false)
      yield* TestClock.adjust("200 millis")
      expect(yield* isDone(flushing)).toBe(true)
    })
  )
})
