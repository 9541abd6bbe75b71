import { describe, expect } from "bun:test"
import type { Attempt } from "@homeostat/runtime/controller/Attempt"
import * as Owned from "@homeostat/runtime/controller/Owned"
import * as Result from "@homeostat/runtime/controller/Result"
import * as Status from "@homeostat/runtime/controller/Status"
import {
  closable,
  counted,
  pass,
  run,
  settle,
  Widget,
  widget,
  withWorld
} from "@homeostat/runtime/controller/World.fixture"
import * as EventRecorder from "@homeostat/runtime/events/EventRecorder"
import { ConfigMap } from "@homeostat/runtime/resource/BuiltIn"
import * as TraceParent from "@homeostat/runtime/telemetry/TraceParent"
import * as Tracing from "@homeostat/runtime/telemetry/Tracing"
import { effect } from "@homeostat/testkit/Test"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as AttemptTrace from "./AttemptTrace.ts"

/** Traces the reconciles in an effect. */
const traced = (propagation: Tracing.Propagation = "link") =>
  Effect.provideService(Tracing.Tracing, { propagation, annotation: Tracing.annotation })

/** The spans of an attempt as a tree: one line each, indented below its parent. */
const tree = (attempt: Attempt | undefined): ReadonlyArray<string> => {
  const spans = attempt === undefined ? [] : (AttemptTrace.complete(attempt)?.spans ?? [])
  const beneath = (id: string | undefined, indent: string): ReadonlyArray<string> =>
    spans
      .filter(({ parent }) => Option.getOrUndefined(parent)?.spanId === id)
      .flatMap((span) => {
        const { exit } = span.status._tag === "Ended" ? span.status : { exit: undefined }
        const end = exit === undefined ? " …" : Exit.isFailure(exit) ? " !" : ""
        return [`${indent}${span.name}${end}`, ...beneath(span.spanId, `${indent}  `)]
      })
  return beneath(undefined, "")
}

const attributesOf = (attempt: Attempt | undefined, name: string) =>
  (attempt?.root?.recording.spans ?? [])
    .filter((span) => span.name === name)
    .map(({ attributes }) => Object.fromEntries(attributes))

const linksOf = (attempt: Attempt | undefined) => {
  if (attempt !== undefined) AttemptTrace.complete(attempt)
  return (attempt?.root?.links ?? []).map(({ attributes, span }) => ({
    kind: attributes["trigger.kind"],
    relation: attributes["link.relation"],
    trace: span.traceId
  }))
}

const makesConfigMap = (owner: Widget) =>
  Owned.apply(owner, ConfigMap, { metadata: { name: owner.metadata.name }, data: { size: String(owner.spec.size) } })

describe("The trace of an attempt", () => {
  effect(
    "contains the finalizer, children, requests, events, status and the spans of the reconcile function",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        yield* run({
          owns: [ConfigMap],
          finalizer: {
            name: "example.com/cleanup",
            cleanup: () => Effect.log("cleaned").pipe(Effect.withSpan("wipe"))
          },
          reconcile: (owner) =>
            Effect.gen(function* () {
              yield* Effect.withSpan(makesConfigMap(owner), "my step")
              yield* Status.update(owner, { phase: "done", seen: 1 })
              return Result.done
            })
        })
        expect(tree(attempts[0])).toEqual([
          "reconcile widgets",
          "  queue wait",
          "  finalizer add",
          "    PATCH /apis/example.com/v1/namespaces/{ns}/widgets/{name}",
          "  my step",
          "    dependent ConfigMap",
          "      PATCH /api/v1/namespaces/{ns}/configmaps/{name}",
          "  status",
          "    PATCH /apis/example.com/v1/namespaces/{ns}/widgets/{name}/status",
          "  event"
        ])
        server.remove(Widget, "a")
        yield* settle
        expect(tree(attempts.at(-2))).toEqual([
          "reconcile widgets",
          "  queue wait",
          "  finalizer clean-up",
          "    wipe",
          "  finalizer remove",
          "    PATCH /apis/example.com/v1/namespaces/{ns}/widgets/{name}"
        ])
        expect(attributesOf(attempts.at(-2), "finalizer remove")).toEqual([{ "finalizer.name": "example.com/cleanup" }])
        expect(tree(attempts.at(-1))).toEqual(["reconcile widgets", "  queue wait"])
      }).pipe(traced())
    )
  )

  effect(
    "contains the resource versions before and after each write, and whether they differ",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const { reconcile } = counted((_, owner) =>
          Effect.gen(function* () {
            yield* makesConfigMap(owner)
            yield* Status.update(owner, { phase: "done" })
            return Result.done
          })
        )
        const first = Number(server.get(Widget, "a")?.metadata.resourceVersion)
        yield* run({ owns: [ConfigMap], reconcile })
        server.change(ConfigMap, "a", { data: { size: "7" } })
        const changed = server.get(ConfigMap, "a")?.metadata.resourceVersion
        yield* settle
        const repaired = server.get(ConfigMap, "a")?.metadata.resourceVersion
        const of = (attempt: Attempt | undefined) =>
          attempt?.exchanges.map(({ span, write }) => ({
            changed: write?.changed,
            before: span?.attributes.get("k8s.object.resource_version.before"),
            after: span?.attributes.get("k8s.object.resource_version.after"),
            recorded: span?.attributes.get("k8s.write.changed"),
            manager: span?.attributes.get("k8s.field_manager"),
            status: span?.attributes.get("http.response.status_code")
          }))
        expect(of(attempts[0])).toEqual([
          { changed: true, before: undefined, after: `${first + 1}`, recorded: true, manager: "widgets", status: 201 },
          { changed: true, before: `${first}`, after: `${first + 2}`, recorded: true, manager: "widgets", status: 200 }
        ])
        const repair = attempts.find(({ corrections }) => corrections.some(({ reason }) => reason === "drift"))
        expect(of(repair)).toEqual([
          { changed: true, before: changed, after: repaired, recorded: true, manager: "widgets", status: 200 }
        ])
      }).pipe(traced())
    )
  )

  effect(
    "has a link for each trigger up to 10, and the number of dropped links",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const gate = yield* Deferred.make<void>()
        const { reconcile } = counted((number) =>
          Effect.as(number === 1 ? Deferred.await(gate) : Effect.void, Result.done)
        )
        yield* run({ reconcile })
        for (let size = 2; size < 15; size++) server.change(Widget, "a", { spec: { size } })
        yield* settle
        yield* Deferred.succeed(gate, undefined)
        yield* settle
        expect(attempts).toHaveLength(2)
        expect(linksOf(attempts[0]).map(({ kind }) => kind)).toEqual(["startup"])
        expect(linksOf(attempts[1])).toHaveLength(10)
        const versions = attempts[1]?.root?.links.map(({ attributes }) => attributes["trigger.source.resource_version"])
        expect(new Set(versions).size).toBe(10)
        expect(attempts[1]?.root?.attributes.get("reconcile.trigger.count")).toBe(13)
        expect(attempts[1]?.root?.attributes.get("reconcile.trigger.dropped_links")).toBe(3)
      }).pipe(traced())
    )
  )

  effect(
    "is linked to the previous attempt after a failure or a requeue",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const { reconcile } = counted((number) =>
          number < 3 ? Effect.fail("no") : Effect.succeed(number === 3 ? Result.requeueAfter("1 minute") : Result.done)
        )
        yield* run({ reconcile })
        yield* pass("2 minutes")
        expect(attempts).toHaveLength(4)
        const traces = attempts.map(({ root }) => root?.traceId)
        expect(new Set(traces).size).toBe(4)
        expect(attempts.slice(1).map(linksOf)).toEqual([
          [{ kind: "retry", relation: "retry_of", trace: traces[0] ?? "" }],
          [{ kind: "retry", relation: "retry_of", trace: traces[1] ?? "" }],
          [{ kind: "requeue_after", relation: "requeue_of", trace: traces[2] ?? "" }]
        ])
      }).pipe(traced())
    )
  )

  effect(
    "has the result interrupted if the reconcile was interrupted",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        const { close, scope } = yield* closable
        yield* run({ reconcile: () => Effect.withSpan(Effect.never, "wait") }).pipe(Scope.provide(scope))
        yield* close
        yield* settle
        expect(tree(attempts[0])).toEqual(["reconcile widgets !", "  queue wait", "  wait !"])
        expect(attempts[0]?.root?.attributes.get("reconcile.result")).toBe("interrupted")
      }).pipe(traced())
    )
  )

  effect(
    "is in the annotation of the Kubernetes Event that it recorded first",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        yield* run({
          reconcile: (regarding) =>
            Effect.as(
              EventRecorder.record({ regarding, type: "Normal", reason: "Seen", note: "Saw it" }),
              Result.requeueAfter("1 minute")
            )
        })
        yield* pass("90 seconds")
        const annotations = server.events().map((object) => object.metadata.annotations)
        expect(attempts).toHaveLength(2)
        expect(annotations).toHaveLength(1)
        const [first] = attempts
        const span = first?.root?.recording.spans.find(({ name }) => name === "event")
        expect(TraceParent.parse(annotations[0]?.[Tracing.annotation])).toMatchObject({
          traceId: first?.id.replaceAll("-", ""),
          spanId: span?.spanId
        })
        expect(attributesOf(first, "event")).toEqual([{ "event.type": "Normal", "event.reason": "Seen" }])
      }).pipe(traced("off"))
    )
  )

  effect(
    "does not exist without tracing: there are no spans, headers and annotations, only exchanges",
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        let spans = 0
        yield* run({
          owns: [ConfigMap],
          reconcile: (owner) =>
            Effect.gen(function* () {
              yield* makesConfigMap(owner)
              const span = yield* Effect.option(Effect.currentSpan)
              if (Option.isSome(span)) spans++
              return Result.done
            })
        })
        yield* settle
        expect(spans).toBe(0)
        expect(attempts[0]?.root).toBeUndefined()
        expect(attempts[0]?.exchanges).toMatchObject([{ status: 201, auditId: undefined, span: undefined }])
        const annotations = [...server.list(ConfigMap), ...server.events()].map((object) =>
          Object.keys(object.metadata.annotations ?? {})
        )
        expect(annotations).toEqual([[Owned.intentAnnotation], []])
      })
    )
  )
})

/** The trace of another program. */
const foreign = `00-${"b".repeat(32)}-${"c".repeat(16)}-01`

describe("A change with a trace annotation", () => {
  const reactions = (propagation: Tracing.Propagation) =>
    withWorld(({ attempts, server }) =>
      Effect.gen(function* () {
        server.put(Widget, { ...widget("a"), metadata: { name: "a", annotations: { [Tracing.annotation]: foreign } } })
        yield* run({ reconcile: () => Effect.succeed(Result.done) })
        // The annotation was there before, then it stays, and then another one replaces it.
        server.change(Widget, "a", { spec: { size: 2 } })
        yield* settle
        const other = foreign.replaceAll("c", "d")
        server.change(Widget, "a", { metadata: { annotations: { [Tracing.annotation]: other } } })
        yield* settle
        const links = attempts.map(linksOf)
        const parents = attempts.map(({ root }) =>
          root === undefined ? undefined : Option.getOrUndefined(Option.map(root.parent, ({ spanId }) => spanId))
        )
        expect(links.map(([link]) => link?.relation)).toEqual([
          undefined,
          undefined,
          propagation === "off" ? undefined : "cause"
        ])
        expect(parents).toEqual([undefined, undefined, propagation === "parent" ? "d".repeat(16) : undefined])
        expect(attempts[2]?.root?.traceId === "b".repeat(32)).toBe(propagation === "parent")
      }).pipe(traced(propagation))
    )

  effect("is linked to the trace of its cause with propagation link", reactions("link"))
  effect("continues the trace of its cause with propagation parent", reactions("parent"))
  effect("is ignored with propagation off", reactions("off"))
})
