/** The spans of a reconcile, and the trace annotations that it writes to objects. */
import { describe, expect } from "bun:test"
import { AttemptTrace } from "@homeostat/observability"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import type { Attempt } from "@homeostat/runtime/controller/Attempt"
import * as Controller from "@homeostat/runtime/controller/Controller"
import * as Owned from "@homeostat/runtime/controller/Owned"
import { Deployment, Event, Service } from "@homeostat/runtime/resource/BuiltIn"
import type { KubernetesObject } from "@homeostat/runtime/resource/KubernetesObject"
import type { Span } from "@homeostat/runtime/telemetry/Recording"
import * as TraceParent from "@homeostat/runtime/telemetry/TraceParent"
import * as Tracing from "@homeostat/runtime/telemetry/Tracing"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect, Option, type Scope } from "effect"
import * as Managed from "../Managed.ts"
import * as Rest from "../Rest.ts"
import * as Scene from "../webapp/Scene.ts"

/** A manager that traces its reconciles. */
const traced = (
  scene: Scene.Scene,
  propagation: Tracing.Propagation,
  ...controllers: Parameters<Scene.Scene["manage"]>
) =>
  scene
    .manage(...controllers)
    .pipe(Effect.provideService(Tracing.Tracing, { propagation, annotation: Tracing.annotation }))

const spansOf = (attempt: Attempt): ReadonlyArray<Span> => AttemptTrace.complete(attempt)?.spans ?? []

const isBeneath = (span: Span, parent: Span | undefined): boolean =>
  Option.getOrUndefined(span.parent)?.spanId === parent?.spanId

/** The spans of an attempt as a tree: one line for each span, indented below its parent. */
const treeOf = (attempt: Attempt): ReadonlyArray<string> => {
  const spans = spansOf(attempt)
  const beneath = (parent: Span | undefined, indent: string): ReadonlyArray<string> =>
    spans
      .filter((span) => isBeneath(span, parent))
      .flatMap((span) => [`${indent}${span.name}`, ...beneath(span, `${indent}  `)])
  return beneath(undefined, "")
}

const attributesOf = (span: Span | undefined) => Object.fromEntries(span?.attributes ?? [])

const named = (attempt: Attempt, name: string) => spansOf(attempt).find((span) => span.name === name)

/** The request below the span with this name. */
const requestOf = (attempt: Attempt, name: string) => {
  const parent = named(attempt, name)
  return attributesOf(spansOf(attempt).find((span) => span.kind === "client" && isBeneath(span, parent)))
}

/** Waits for the first attempt that has corrected a Deployment for this reason. */
const correcting = (manager: Managed.Managed, reason: string) =>
  Effect.gen(function* () {
    const find = () =>
      manager
        .attempts()
        .find(({ corrections }) => corrections.some((each) => each.kind === "Deployment" && each.reason === reason))
    yield* Managed.eventually(
      `a reconcile that corrects (${reason})`,
      Effect.sync(() => find() !== undefined),
      (found) => found
    )
    return yield* Effect.fromNullishOr(find())
  })

const setImage = (scene: Scene.Scene, image: string) =>
  Client.patch(WebApp, scene.key("shop"), Patch.merge({ spec: { image } }))

const annotation = ({ metadata }: KubernetesObject, name = Tracing.annotation) => metadata.annotations?.[name]

describe.concurrent("The trace of a reconcile", () => {
  Scene.empty("contains the creation of a WebApp's children, and the change of its image", (scene) =>
    Effect.gen(function* () {
      const manager = yield* traced(scene, "link")
      yield* Scene.launch(scene, "shop")
      yield* Scene.quiet(scene, "shop")
      const first = yield* correcting(manager, "created")
      expect(treeOf(first)).toEqual([
        "reconcile webapp",
        "  queue wait",
        "  dependent Deployment",
        "    PATCH /apis/apps/v1/namespaces/{ns}/deployments/{name}",
        "  dependent Service",
        "    PATCH /api/v1/namespaces/{ns}/services/{name}",
        "  dependent PodDisruptionBudget",
        "    PATCH /apis/policy/v1/namespaces/{ns}/poddisruptionbudgets/{name}",
        "  status",
        "    PATCH /apis/apps.kubedojo.io/v1beta1/namespaces/{ns}/webapps/{name}/status",
        "  event"
      ])
      expect(attributesOf(first.root)).toMatchObject({
        "controller.name": "webapp",
        "k8s.object.kind": "WebApp",
        "k8s.object.api_version": "apps.kubedojo.io/v1beta1",
        "k8s.namespace.name": scene.namespace,
        "k8s.object.name": "shop",
        "reconcile.generation": 1,
        "reconcile.trigger.kinds": ["watch.added"],
        "reconcile.attempt": 1,
        "reconcile.result": "success",
        "reconcile.writes": 4,
        "reconcile.noop_writes": 0
      })
      expect(requestOf(first, "dependent Deployment")).toMatchObject({
        "http.request.method": "PATCH",
        "http.response.status_code": 201,
        "k8s.field_manager": "webapp-controller",
        "k8s.write.changed": true,
        "k8s.audit_id": expect.stringMatching(new RegExp(`^${first.root?.traceId}-\\d+$`))
      })

      const before = yield* Scene.deployment(scene, "shop")
      yield* setImage(scene, "registry.test/web:2")
      const second = yield* correcting(manager, "intent")
      expect(treeOf(second)).toEqual([
        "reconcile webapp",
        "  queue wait",
        "  dependent Deployment",
        "    PATCH /apis/apps/v1/namespaces/{ns}/deployments/{name}",
        "  dependent Service",
        "  dependent PodDisruptionBudget",
        "  status",
        "    PATCH /apis/apps.kubedojo.io/v1beta1/namespaces/{ns}/webapps/{name}/status",
        "  event"
      ])
      expect(attributesOf(named(second, "dependent Deployment"))).toEqual({
        "k8s.object.kind": "Deployment",
        "k8s.object.name": "shop",
        "k8s.namespace.name": scene.namespace,
        "dependent.result": "updated",
        "dependent.reason": "intent",
        "dependent.fields": [
          "metadata.labels.apps.kubedojo.io/template-hash",
          "metadata.annotations.apps.kubedojo.io/template-hash",
          "spec.template.spec.containers[app].image"
        ]
      })
      const request = requestOf(second, "dependent Deployment")
      expect(request).toMatchObject({
        "http.response.status_code": 200,
        "k8s.object.resource_version.before": before.metadata.resourceVersion,
        "k8s.write.changed": true
      })
      expect(request["k8s.object.resource_version.after"]).not.toBe(before.metadata.resourceVersion)
      expect(requestOf(second, "status")).toMatchObject({ "http.response.status_code": 200, "k8s.write.changed": true })
      expect(second.root?.traceId).not.toBe(first.root?.traceId)
    })
  )

  Scene.empty("has a link for each trigger, to the reconcile that caused it", (scene) =>
    Effect.gen(function* () {
      const manager = yield* traced(scene, "link")
      yield* Scene.launch(scene, "shop")
      yield* Scene.quiet(scene, "shop")
      const first = yield* correcting(manager, "created")
      for (const attempt of manager.attempts()) {
        const [root, wait] = spansOf(attempt)
        expect(root?.links).toHaveLength(attempt.triggers.length)
        expect(wait?.events).toHaveLength(attempt.triggers.length)
        // An exporter would drop a link with an invalid span id.
        for (const { span } of root?.links ?? []) expect(span.spanId).toMatch(/^[0-9a-f]{16}$/)
      }
      const causes = manager
        .attempts()
        .flatMap(({ root }) => (root?.links ?? []).filter(({ attributes }) => attributes["link.relation"] === "cause"))
      const written = (kind: string) => named(first, `dependent ${kind}`)?.spanId
      for (const kind of ["Deployment", "Service"]) {
        const link = causes.find(({ attributes }) => attributes["trigger.source.kind"] === kind)
        expect(link?.attributes).toMatchObject({
          "trigger.kind": "owned.added",
          "trigger.source.namespace": scene.namespace,
          "trigger.source.name": "shop"
        })
        expect([link?.span.traceId, link?.span.spanId]).toEqual([first.root?.traceId, written(kind)])
      }
    })
  )

  Scene.empty("of a failing object is linked to the previous one", (scene) =>
    Effect.gen(function* () {
      const failing = Controller.make("failing", { for: WebApp, reconcile: () => Effect.fail({ _tag: "NoLuck" }) })
      const manager = yield* traced(scene, "link", [failing])
      yield* Scene.create(scene, "shop")
      yield* Managed.eventually(
        "four attempts",
        Effect.sync(() => manager.attempts().length),
        (count) => count >= 4
      )
      const attempts = manager.attempts().slice(0, 4)
      const traces = attempts.map(({ root }) => root?.traceId)
      expect(new Set(traces).size).toBe(attempts.length)
      for (const [index, attempt] of attempts.slice(1).entries()) {
        spansOf(attempt)
        expect(attempt.root?.links.map(({ attributes, span }) => [attributes["link.relation"], span.traceId])).toEqual([
          ["retry_of", traces[index] ?? ""]
        ])
        expect(attributesOf(attempt.root)).toMatchObject({
          "reconcile.result": "retryable",
          "reconcile.attempt": index + 2,
          "error.type": "NoLuck"
        })
      }
    })
  )

  Scene.empty("is found from the Event of its children", (scene) =>
    Effect.gen(function* () {
      const manager = yield* traced(scene, "off")
      yield* Scene.launch(scene, "shop")
      const first = yield* correcting(manager, "created")
      const events = yield* Managed.eventually(
        "the Event of both children",
        Effect.map(Client.list(Event, { namespace: scene.namespace }), ({ items }) =>
          items.filter(({ reportingController }) => reportingController === "webapp-controller")
        ),
        ({ length }) => length > 0
      )
      expect(events).toHaveLength(1)
      for (const event of events) {
        const trace = TraceParent.parse(annotation(event))
        expect(trace?.traceId).toBe(first.root?.traceId ?? "")
        expect(spansOf(first).some(({ name, spanId }) => name === "event" && spanId === trace?.spanId)).toBe(true)
      }
      expect(annotation(yield* Scene.deployment(scene, "shop"))).toBeUndefined()
    })
  )
})

/** All objects that a manager writes, with their current content. */
const snapshot = (scene: Scene.Scene) =>
  Effect.map(
    Effect.all([
      Client.get(WebApp, scene.key("shop")),
      Client.get(Deployment, scene.key("shop")),
      Client.get(Service, scene.key("shop"))
    ]),
    (objects) => objects.map(({ metadata }) => metadata.resourceVersion)
  )

/** Runs a manager that finds nothing to change, and returns its requests. */
const look = (scene: Scene.Scene, manager: Effect.Effect<Managed.Managed, never, Scope.Scope>) =>
  Effect.scoped(
    Effect.gen(function* () {
      const managed = yield* manager
      const { attempts } = managed
      yield* Managed.eventually(
        "a reconcile",
        Effect.sync(() => attempts().length),
        (count) => count > 0
      )
      yield* Rest.of(managed)
      expect(attempts().every(({ key }) => key === `${scene.namespace}/shop`)).toBe(true)
      return attempts().flatMap(({ exchanges }) => exchanges.map(({ request }) => `${request.method} ${request.path}`))
    })
  )

describe.concurrent("A trace in the annotation of a child", () => {
  Scene.empty("never causes a write, in any order of tracing modes", (scene) =>
    Effect.gen(function* () {
      const modes = [traced(scene, "off"), traced(scene, "link"), traced(scene, "parent"), scene.manage()]
      yield* Scene.during(scene.manage(), Effect.andThen(Scene.create(scene, "shop"), Scene.settled(scene, "shop")))
      const plain = yield* Scene.deployment(scene, "shop")
      expect(annotation(plain)).toBeUndefined()
      const before = yield* snapshot(scene)
      for (const mode of modes) expect(yield* look(scene, mode)).toEqual([])
      expect(yield* snapshot(scene)).toEqual(before)

      // An annotation that comes with a change stays after the tracing is off.
      yield* setImage(scene, "registry.test/web:2")
      yield* Scene.during(traced(scene, "link"), Scene.settled(scene, "shop"))
      const changed = yield* Scene.deployment(scene, "shop")
      expect(TraceParent.parse(annotation(changed))).toBeDefined()
      expect(annotation(yield* Scene.service(scene, "shop"))).toBeUndefined()
      const after = yield* snapshot(scene)
      for (const mode of modes) expect(yield* look(scene, mode)).toEqual([])
      expect(yield* snapshot(scene)).toEqual(after)

      // The hash covers only the intent, with and without tracing.
      yield* setImage(scene, "registry.test/web:1")
      yield* Scene.during(traced(scene, "link"), Scene.settled(scene, "shop"))
      const back = yield* Scene.deployment(scene, "shop")
      expect(annotation(back, Owned.intentAnnotation)).toBe(annotation(plain, Owned.intentAnnotation))
      expect(annotation(back)).not.toBe(annotation(changed))
    })
  )

  Scene.empty(
    "stays when another manager's change is corrected, and is removed by a correction without tracing",
    (scene) =>
      Effect.gen(function* () {
        const drift = Client.patch(Deployment, scene.key("shop"), Patch.merge({ spec: { replicas: 7 } }))
        const repaired = Managed.eventually(
          "the Deployment is as wanted",
          Scene.deployment(scene, "shop"),
          ({ spec }) => spec?.replicas === 2
        )
        yield* Scene.during(
          traced(scene, "link"),
          Effect.andThen(Scene.launch(scene, "shop"), Scene.quiet(scene, "shop"))
        )
        const first = annotation(yield* Scene.deployment(scene, "shop"))
        expect(first).toBeDefined()
        yield* drift
        yield* Scene.during(traced(scene, "link"), Effect.andThen(repaired, Scene.quiet(scene, "shop")))
        expect(annotation(yield* Scene.deployment(scene, "shop"))).toBe(first)
        yield* drift
        yield* Scene.during(traced(scene, "off"), Effect.andThen(repaired, Scene.quiet(scene, "shop")))
        expect(annotation(yield* Scene.deployment(scene, "shop"))).toBeUndefined()
      })
  )
})
