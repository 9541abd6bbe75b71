import { describe, expect } from "bun:test"
import * as Faults from "@homeostat/testkit/Faults"
import { effect } from "@homeostat/testkit/Test"
import * as Effect from "effect/Effect"
import * as Scope from "effect/Scope"
import type * as Cluster from "../client/Cluster.fixture.ts"
import { ConfigMap } from "../resource/BuiltIn.ts"
import * as TraceParent from "../telemetry/TraceParent.ts"
import * as Tracing from "../telemetry/Tracing.ts"
import * as Owned from "./Owned.ts"
import * as Result from "./Result.ts"
import { closable, pass, run, settle, type Widget, Widget as WidgetKind, widget, withWorld } from "./World.fixture.ts"

const settings = (propagation: Tracing.Propagation, annotation = Tracing.annotation) =>
  Effect.provideService(Tracing.Tracing, { propagation, annotation })

const intentOf = (owner: Widget, annotations: { readonly [name: string]: string } = {}) => ({
  metadata: { name: owner.metadata.name, annotations },
  data: { size: String(owner.spec.size) }
})

const makes = (options?: Owned.Options<ConfigMap>, annotations?: { readonly [name: string]: string }) => ({
  owns: [ConfigMap],
  reconcile: (owner: Widget) =>
    Effect.as(Owned.apply(owner, ConfigMap, intentOf(owner, annotations), options), Result.done)
})

const child = (server: Cluster.Cluster) => server.get(ConfigMap, "a") ?? expect.unreachable("no ConfigMap a")

const traceOf = (server: Cluster.Cluster, annotation = Tracing.annotation) =>
  child(server).metadata.annotations?.[annotation]

const writes = (server: Cluster.Cluster) => server.writes().filter(({ path }) => !path.endsWith("/events"))

const notes = (server: Cluster.Cluster) => server.events().map((object) => object.note ?? "")

/** Runs the controller for a while, as one of several processes that follow each other. */
const process = (server: Cluster.Cluster, options: ReturnType<typeof makes>) =>
  Effect.gen(function* () {
    const { close, scope } = yield* closable
    yield* run(options).pipe(Scope.provide(scope))
    server.change(WidgetKind, "a", { metadata: { labels: { touched: String(server.requests.length) } } })
    yield* settle
    yield* close
    yield* settle
  })

describe("The trace annotation of a child", () => {
  for (const propagation of ["link", "parent"] as const) {
    effect(
      `contains the trace of its creation, and then of the last change of the intent (${propagation})`,
      withWorld(({ attempts, server }) =>
        Effect.gen(function* () {
          server.put(WidgetKind, widget("a"))
          yield* run(makes())
          const first = TraceParent.parse(traceOf(server))
          const [maker] = attempts
          const span = maker?.root?.recording.spans.find(({ name }) => name === "dependent ConfigMap")
          expect(first).toMatchObject({ traceId: maker?.root?.traceId, spanId: span?.spanId })
          server.change(WidgetKind, "a", { spec: { size: 2 } })
          yield* settle
          const second = TraceParent.parse(traceOf(server))
          expect(second?.spanId).not.toBe(first?.spanId)
          const changer = attempts.find(({ corrections }) => corrections.some(({ reason }) => reason === "intent"))
          expect(second?.traceId).toBe(changer?.root?.traceId)
          expect(changer?.corrections).toEqual([
            { kind: "ConfigMap", key: "default/a", reason: "intent", fields: ["data.size"] }
          ])
        }).pipe(settings(propagation))
      )
    )
  }

  effect(
    "does not change when another manager's change is corrected",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(WidgetKind, widget("a"))
        yield* run(makes())
        const first = traceOf(server)
        expect(first).toBeDefined()
        server.change(ConfigMap, "a", { data: { size: "7" } })
        yield* settle
        expect(child(server).data).toEqual({ size: "1" })
        expect(traceOf(server)).toBe(first)
        expect(attempts.flatMap(({ corrections }) => corrections)).toEqual([
          { kind: "ConfigMap", key: "default/a", reason: "created", fields: [] },
          { kind: "ConfigMap", key: "default/a", reason: "drift", fields: ["data.size"], manager: "somebody" }
        ])
      }).pipe(settings("link"))
    )
  )

  effect(
    "causes no write when another manager changes or removes it",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(WidgetKind, widget("a"))
        yield* run(makes())
        expect(writes(server)).toHaveLength(1)
        server.change(ConfigMap, "a", { metadata: { annotations: { [Tracing.annotation]: "theirs" } } })
        yield* settle
        expect(traceOf(server)).toBe("theirs")
        server.change(ConfigMap, "a", { metadata: { annotations: { [Tracing.annotation]: null } } })
        yield* settle
        expect(writes(server)).toHaveLength(1)
        server.change(ConfigMap, "a", { data: { size: "7" } })
        yield* settle
        expect(writes(server)).toHaveLength(2)
        expect(traceOf(server)).toBeUndefined()
      }).pipe(settings("link"))
    )
  )

  effect(
    "causes no write after a restart with other tracing settings",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(WidgetKind, widget("a"))
        yield* process(server, makes())
        const hash = child(server).metadata.annotations?.[Owned.intentAnnotation]
        expect(writes(server)).toHaveLength(1)
        for (const propagation of ["link", "link", "off", "parent"] as const) {
          yield* process(server, makes()).pipe(settings(propagation))
        }
        expect(writes(server)).toHaveLength(1)
        expect(traceOf(server)).toBeUndefined()

        server.change(WidgetKind, "a", { spec: { size: 2 } })
        yield* process(server, makes()).pipe(settings("link"))
        expect(writes(server)).toHaveLength(2)
        const trace = traceOf(server)
        expect(trace).toBeDefined()
        yield* process(server, makes()).pipe(settings("off"))
        yield* process(server, makes())
        yield* process(server, makes()).pipe(settings("link"))
        expect(writes(server)).toHaveLength(2)
        expect(traceOf(server)).toBe(trace)

        // The hash covers only the intent.
        server.change(WidgetKind, "a", { spec: { size: 1 } })
        yield* process(server, makes()).pipe(settings("link"))
        expect(child(server).metadata.annotations?.[Owned.intentAnnotation]).toBe(hash)
        expect(notes(server).join()).not.toContain("traceparent")
      })
    )
  )

  effect(
    "is removed by the next apply without tracing",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(WidgetKind, widget("a"))
        yield* process(server, makes()).pipe(settings("link"))
        expect(traceOf(server)).toBeDefined()
        server.change(ConfigMap, "a", { data: { size: "7" } })
        yield* process(server, makes()).pipe(settings("off"))
        expect(child(server).data).toEqual({ size: "1" })
        expect(traceOf(server)).toBeUndefined()
      })
    )
  )

  effect(
    "has the configured key, and does not replace a value of the author",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(WidgetKind, widget("a"))
        yield* process(server, makes()).pipe(settings("link", "example.com/trace"))
        expect([traceOf(server), typeof traceOf(server, "example.com/trace")]).toEqual([undefined, "string"])
        yield* process(server, makes({}, { "example.com/trace": "mine" })).pipe(settings("link", "example.com/trace"))
        expect(traceOf(server, "example.com/trace")).toBe("mine")
      })
    )
  )

  effect(
    "is not a foreign field in exclusive annotations: another correction is one write and reports only its field",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(WidgetKind, widget("a"))
        yield* run(makes({ exclusive: [["metadata", "annotations"]] }))
        const trace = traceOf(server)
        server.change(ConfigMap, "a", { data: { size: "7" } })
        yield* settle
        expect(child(server).data).toEqual({ size: "1" })
        expect(traceOf(server)).toBe(trace)
        expect(writes(server)).toHaveLength(2)
        expect(attempts.flatMap(({ corrections }) => corrections)).toEqual([
          { kind: "ConfigMap", key: "default/a", reason: "created", fields: [] },
          { kind: "ConfigMap", key: "default/a", reason: "drift", fields: ["data.size"], manager: "somebody" }
        ])
        expect(notes(server)).toEqual([
          "Created ConfigMap a",
          "Updated ConfigMap a (data.size), which somebody had changed"
        ])
        // With an annotation of another manager, the first write restores all own annotations, and keeps the trace.
        server.change(ConfigMap, "a", { data: { size: "7" }, metadata: { annotations: { theirs: "1" } } })
        yield* settle
        expect(Object.keys(child(server).metadata.annotations ?? {}).sort()).toEqual([
          Owned.intentAnnotation,
          Tracing.annotation
        ])
        expect(writes(server)).toHaveLength(4)
        expect(JSON.stringify(writes(server)[2]?.body)).toContain(`"${Tracing.annotation}":"${trace}"`)
        expect(attempts.flatMap(({ corrections }) => corrections).at(-1)?.fields).toEqual([
          "data.size",
          "metadata.annotations.theirs"
        ])
      }).pipe(settings("link"))
    )
  )

  effect(
    "is not a foreign field in exclusive annotations",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(WidgetKind, widget("a"))
        const options = { exclusive: [["metadata", "annotations"]] }
        yield* process(server, makes(options)).pipe(settings("link"))
        yield* process(server, makes(options)).pipe(settings("off"))
        yield* process(server, makes(options))
        expect(writes(server)).toHaveLength(1)
        expect(traceOf(server)).toBeDefined()
        server.change(ConfigMap, "a", { metadata: { annotations: { theirs: "1" } } })
        yield* process(server, makes(options)).pipe(settings("link"))
        expect(Object.keys(child(server).metadata.annotations ?? {}).sort()).toEqual([
          Owned.intentAnnotation,
          Tracing.annotation
        ])
        const written = attempts.flatMap(({ exchanges }) => exchanges.map(({ write }) => write)).at(-1)
        expect(written).toMatchObject({ verb: "patch", changed: true })
      })
    )
  )
})

describe("The span of a child", () => {
  effect(
    "contains the result created, matched or updated, with the paths of the differences and no values",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(WidgetKind, widget("a"))
        yield* run(makes())
        server.change(ConfigMap, "a", { data: { size: "secret" } })
        yield* settle
        server.change(WidgetKind, "a", { spec: { size: 2 } })
        yield* settle
        const childSpans = attempts.flatMap(({ root }) =>
          (root?.recording.spans ?? [])
            .filter(({ name }) => name === "dependent ConfigMap")
            .map(({ attributes }) => Object.fromEntries(attributes))
        )
        const place = { "k8s.object.kind": "ConfigMap", "k8s.object.name": "a", "k8s.namespace.name": "default" }
        expect(childSpans).toContainEqual({ ...place, "dependent.result": "created", "dependent.reason": "created" })
        expect(childSpans).toContainEqual({ ...place, "dependent.result": "matched" })
        for (const reason of ["drift", "intent"]) {
          expect(childSpans).toContainEqual({
            ...place,
            "dependent.result": "updated",
            "dependent.reason": reason,
            "dependent.fields": ["data.size"]
          })
        }
        expect(childSpans.filter((each) => each["dependent.result"] !== "matched")).toHaveLength(3)
      }).pipe(settings("link"))
    )
  )

  for (const propagation of ["link", "off"] as const) {
    effect(
      `reports a child that another process has just created once (${propagation})`,
      withWorld(({ attempts, server }) =>
        Effect.gen(function* () {
          server.put(WidgetKind, widget("a"))
          const held = server.faults.on({ verb: "patch", kind: ConfigMap }, Faults.held)
          yield* run(makes())
          yield* run(makes())
          expect(writes(server)).toHaveLength(2)
          held.remove()
          yield* settle
          expect(attempts.flatMap(({ corrections }) => corrections)).toEqual([
            { kind: "ConfigMap", key: "default/a", reason: "created", fields: [] }
          ])
          expect(notes(server)).toEqual(["Created ConfigMap a"])
          yield* pass("10 seconds")
          expect(server.events()[0]?.series).toBeUndefined()
          const results = attempts.flatMap(({ root }) =>
            (root?.recording.spans ?? []).flatMap(({ attributes, name }) =>
              name === "dependent ConfigMap" ? [attributes.get("dependent.result")] : []
            )
          )
          expect(results.filter((result) => result !== "matched")).toEqual(["created"])
        }).pipe(settings(propagation))
      )
    )
  }

  effect(
    "reports a child that this controller has just created with other values as updated",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(WidgetKind, widget("a"))
        const held = server.faults.on({ verb: "patch", kind: ConfigMap }, Faults.held)
        yield* run(makes())
        const { apiVersion, kind, metadata } = server.get(WidgetKind, "a") ?? expect.unreachable("no Widget a")
        const owner = { apiVersion, kind, name: "a", uid: metadata.uid, controller: true }
        server.put(ConfigMap, { metadata: { name: "a", ownerReferences: [owner] }, data: { size: "7" } })
        held.remove()
        yield* settle
        expect(child(server).data).toEqual({ size: "1" })
        const [correction] = attempts.flatMap(({ corrections }) => corrections)
        expect(correction).toMatchObject({ reason: "intent", fields: expect.arrayContaining(["data.size"]) })
        expect(notes(server).join()).not.toContain("Created")
      }).pipe(settings("link"))
    )
  )

  effect(
    "reports a creation once whose answer was lost",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(WidgetKind, widget("a"))
        server.faults.on({ verb: "patch", kind: ConfigMap }, Faults.lost, { times: 1 })
        yield* run(makes())
        yield* pass("10 seconds")
        expect(attempts[0]?.exchanges[0]).toMatchObject({ status: 409, resends: 1 })
        expect(attempts.flatMap(({ corrections }) => corrections)).toMatchObject([{ reason: "created" }])
        expect(notes(server)).toEqual(["Created ConfigMap a"])
        expect(writes(server)).toHaveLength(2)
      }).pipe(settings("link"))
    )
  )

  effect(
    "reports a child with a taken name as not changed",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(ConfigMap, { metadata: { name: "a" }, data: { theirs: "1" } })
        server.put(WidgetKind, widget("a"))
        yield* run({
          owns: [ConfigMap],
          reconcile: (owner) => Effect.catchTag(makes().reconcile(owner), "NotOwned", () => Effect.succeed(Result.done))
        })
        const span = attempts[0]?.root?.recording.spans.find(({ name }) => name === "dependent ConfigMap")
        expect(span?.attributes.get("dependent.result")).toBe("left alone")
        expect(attempts[0]?.corrections).toEqual([])
      }).pipe(settings("link"))
    )
  )
})
