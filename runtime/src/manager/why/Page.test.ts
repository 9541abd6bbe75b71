import { describe, expect } from "bun:test"
import * as Faults from "@homeostat/testkit/Faults"
import { effect } from "@homeostat/testkit/Test"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import * as Client from "../../client/Client.ts"
import type * as Cluster from "../../client/Cluster.fixture.ts"
import * as Patch from "../../client/Patch.ts"
import * as Controller from "../../controller/Controller.ts"
import * as Result from "../../controller/Result.ts"
import * as RunnerFixture from "../../controller/Runner.fixture.ts"
import { settle, Widget, widget, withWorld } from "../../controller/World.fixture.ts"
import { ConfigMap, Deployment, Job, Namespace, Pod, ReplicaSet, Service } from "../../resource/BuiltIn.ts"
import * as CallFixture from "../../webhook/Call.fixture.ts"
import * as Callers from "../Callers.ts"
import * as Endpoints from "../Endpoints.ts"
import * as Admissions from "./Admissions.ts"
import * as Gather from "./Gather.ts"
import * as Journal from "./Journal.ts"
import * as Page from "./Page.ts"

const reconcile = () => Effect.succeed(Result.done)

/** A running controller, and its page for callers. `discovery` responds to discovery requests. */
const asked = (
  controller: Controller.Controller<Controller.Services>,
  discovery: (path: string) => Effect.Effect<string> = () => Effect.succeed("{}"),
  admissions?: Admissions.Admissions
) =>
  Effect.gen(function* () {
    const journal = Journal.make()
    const runner = {
      ...(yield* RunnerFixture.start(controller, { gracePeriod: 0, history: journal })),
      journal,
      recordingOf: () => undefined
    }
    yield* runner.started
    yield* settle
    const client = yield* Client.Client
    const paths: Array<string> = []
    const handlers: Array<Endpoints.Handler> = []
    yield* Page.serve([controller], [runner], undefined, admissions).pipe(
      Effect.provideService(Client.Client, {
        ...client,
        raw: ({ path }) =>
          Effect.suspend(() => {
            paths.push(path)
            return Effect.map(discovery(path), (body) => ({ status: 200, body }))
          })
      }),
      Effect.provideService(Callers.Callers, { guarded: (handler) => handler }),
      Effect.provideService(Endpoints.Endpoints, {
        addresses: {},
        route: (_port, _path, handler) => Effect.sync(() => void handlers.push(handler))
      })
    )
    const ask = (query: string) =>
      Effect.gen(function* () {
        const [handler] = handlers
        if (handler === undefined) return yield* Effect.die(new Error("there is no route"))
        const response = yield* handler(new Request(`http://localhost:8081/why?${query}`), { address: "127.0.0.1" })
        return yield* Effect.promise(() => response.text())
      })
    return { ask, paths, runner }
  })

/** A ConfigMap that an object controls. */
const child = (name: string, apiVersion: string, kind: string, owner: string): Cluster.Put => ({
  metadata: { name, ownerReferences: [{ apiVersion, kind, name: owner, uid: "u", controller: true }] }
})

describe("A child", () => {
  effect(
    "of a cluster-scoped owner is explained by its owner",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Namespace, { metadata: { name: "shop" } })
        server.put(ConfigMap, child("settings", "v1", "Namespace", "shop"))
        const { ask } = yield* asked(Controller.make("spaces", { for: Namespace, owns: [ConfigMap], reconcile }))
        const text = yield* ask("kind=configmap&name=settings")
        expect(text).toStartWith(
          "ConfigMap default/settings is a child of Namespace shop (controller spaces):\n\nNamespace shop was reconciled"
        )
      })
    )
  )

  effect(
    "of an owner with the same name in another group is not explained by ours",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        server.put(ConfigMap, child("ours", "example.com/v1alpha1", "Widget", "a"))
        server.put(ConfigMap, child("theirs", "other.com/v1", "Widget", "a"))
        const { ask } = yield* asked(Controller.make("widgets", { for: Widget, owns: [ConfigMap], reconcile }))
        expect(yield* ask("kind=configmap&name=ours")).toStartWith(
          "ConfigMap default/ours is a child of Widget a (controller widgets):"
        )
        expect(yield* ask("kind=configmap&name=theirs")).toBe(
          "ConfigMap default/theirs is not a child of an object that controller widgets reconciles: its controller is Widget a (other.com/v1).\n"
        )
      })
    )
  )
})

describe("An object between a child and others", () => {
  const owned = (name: string, apiVersion: string, kind: string, owner: string, labels = {}) => ({
    metadata: { name, labels, ownerReferences: [{ apiVersion, kind, name: owner, uid: "u", controller: true }] }
  })
  const hash = { "pod-template-hash": "7c9f" }
  const spec = { containers: [{ name: "web", image: "web:1" }], restartPolicy: "Never" } as const
  const template = (labels: { readonly [name: string]: string }) => ({
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { containers: spec.containers } }
  })

  const world = (body: (ask: (query: string) => Effect.Effect<string>) => Effect.Effect<void>) =>
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        server.put(Deployment, {
          ...owned("a", "example.com/v1alpha1", "Widget", "a"),
          spec: template({ app: "a" })
        })
        server.put(ReplicaSet, { ...owned("a-7c9f", "apps/v1", "Deployment", "a", hash), spec: template(hash) })
        server.put(Pod, { ...owned("a-7c9f-x", "apps/v1", "ReplicaSet", "a-7c9f", hash), spec })
        server.put(Job, { ...owned("nightly", "example.com/v1alpha1", "Widget", "a"), spec: { template: { spec } } })
        server.put(Pod, { ...owned("nightly-x", "batch/v1", "Job", "nightly"), spec })
        server.put(Pod, { ...owned("far", "other.com/v1", "Site", "far"), spec })
        server.put(Pod, { metadata: { name: "free" }, spec })
        // A manager has no permission for ReplicaSets.
        server.faults.on({ verb: "get", kind: ReplicaSet }, Faults.answer(403))
        server.faults.on({ verb: "list", kind: ReplicaSet }, Faults.answer(403))
        const short = JSON.stringify({ resources: [{ name: "pods", shortNames: ["po"] }] })
        const { ask } = yield* asked(
          Controller.make("widgets", { for: Widget, owns: [Deployment, Job, ConfigMap], reconcile }),
          () => Effect.succeed(short)
        )
        yield* body(ask)
      })
    )

  const answers: { readonly [query: string]: string } = {
    "kind=pod&name=a-7c9f-x":
      "Pod default/a-7c9f-x belongs to Widget a, through ReplicaSet a-7c9f and Deployment a:\n\nWidget default/a was reconciled",
    "kind=po&name=a-7c9f-x":
      "Pod default/a-7c9f-x belongs to Widget a, through ReplicaSet a-7c9f and Deployment a:\n\nWidget default/a was reconciled",
    "kind=pod&name=nightly-x":
      "Pod default/nightly-x belongs to Widget a, through Job nightly:\n\nWidget default/a was reconciled",
    "kind=replicaset&name=a-7c9f":
      "ReplicaSet default/a-7c9f belongs to Widget a, through Deployment a:\n\nWidget default/a was reconciled",
    "kind=replicaset&name=b-7c9f":
      "ReplicaSet default/b-7c9f leads to no object that a controller here reconciles: the owner of ReplicaSet default/b-7c9f is not known: ",
    "kind=pod&name=far":
      "Pod default/far leads to no object that a controller here reconciles: the controller of Pod default/far is Site far (other.com/v1).",
    "kind=pod&name=free":
      "Pod default/free leads to no object that a controller here reconciles: Pod default/free has no controller.",
    "kind=pod&name=gone":
      "Pod default/gone leads to no object that a controller here reconciles: Pod default/gone not found."
  }
  for (const [query, begins] of Object.entries(answers)) {
    effect(
      `is explained by the owner that a controller reconciles: ${query}`,
      world((ask) => Effect.map(ask(query), (text) => expect(text).toStartWith(begins)))
    )
  }
})

effect(
  "The answer about an object that waits shows that its namespace used more than its share of the CPU",
  withWorld(({ server }) =>
    Effect.gen(function* () {
      server.put(Widget, widget("busy"))
      const { ask, runner } = yield* asked(
        Controller.make("widgets", {
          for: Widget,
          concurrency: 1,
          timeout: "1 hour",
          reconcile: () => Effect.delay(Effect.succeed(Result.done), "1 minute")
        })
      )
      server.put(Widget, widget("waiting"))
      yield* TestClock.adjust("20 seconds")
      const answer = Effect.map(ask("kind=widget&name=waiting"), (text) => text.split("\n\n")[0])
      const waits =
        "Widget default/waiting has waited for a free worker for 20s: it is next, and the only worker is busy."
      expect(yield* answer).toBe(waits)
      runner.use.spend("default", 500, 20_000)
      runner.use.spend("other", 5000, 20_000)
      expect(yield* answer).toBe(waits)
      runner.use.spend("default", 734.4, 20_000)
      expect(yield* answer).toBe(
        `${waits} Objects of other namespaces go first. The reconciles of namespace default used 1234 ms of CPU in the last 10s (its share is 500 ms).\nThe object keeps its place, and has it again when its namespace has used less than that in 10s: reduce the number or the size of the namespace's objects, or how often they change.`
      )
    })
  )
)

effect(
  "The answer about an object that waits shows that its namespace holds more than its share of the workers",
  withWorld(({ server }) =>
    Effect.gen(function* () {
      for (let at = 0; at < 4; at++) server.put(Widget, widget(`slow${at}`))
      const { ask } = yield* asked(
        Controller.make("widgets", {
          for: Widget,
          concurrency: 4,
          timeout: "1 hour",
          reconcile: () => Effect.delay(Effect.succeed(Result.done), "1 minute")
        })
      )
      server.put(Widget, widget("waiting"))
      yield* TestClock.adjust("10 seconds")
      const answer = Effect.map(ask("kind=widget&name=waiting"), (text) => text.split("\n\n")[0])
      expect(yield* answer).toBe(
        "Widget default/waiting has waited for a free worker for 10s: it is next, and all 4 workers are busy."
      )
      server.put(Widget, { metadata: { name: "honest", namespace: "other" }, spec: { size: 1 } })
      yield* TestClock.adjust("1 second")
      expect(yield* answer).toBe(
        "Widget default/waiting has waited for a free worker for 11s: 1 object is before it, and all 4 workers are busy. Objects of other namespaces go first. The reconciles of namespace default hold 4 of 4 workers (its share is 2).\nThe object keeps its place, and has it again when one of these reconciles ends: look for what they wait for, such as a webhook that answers slowly."
      )
    })
  )
)

describe("The answer of a webhook", () => {
  /** The history of a program with webhooks for these kinds, which denied the creation of ConfigMap `default/page`. */
  const denied = (...resources: ReadonlyArray<Admissions.Admissions["resources"][number]>) => {
    const admissions = Admissions.make(resources)
    const answer = CallFixture.answer({ denial: "no page" })
    admissions.record(CallFixture.call({ finishedAt: 0, admission: CallFixture.admission({ answer }) }))
    return admissions
  }
  const widgets = Controller.make("widgets", { for: Widget, reconcile })

  effect(
    "is shown for an object without a controller, also by a short name and in JSON",
    withWorld(() =>
      Effect.gen(function* () {
        const names = JSON.stringify({ resources: [{ name: "configmaps", shortNames: ["cm"] }] })
        const { ask } = yield* asked(widgets, () => Effect.succeed(names), denied(ConfigMap))
        const text = `No controller here reconciles ConfigMap default/page.

The webhooks answered about ConfigMap default/page:
just now (00:00:00Z)  denied  create by ann  no page
`
        expect(yield* ask("kind=configmap&name=page")).toBe(text)
        expect(yield* ask("kind=cm&name=page")).toBe(text)
        expect(yield* ask("kind=configmap&name=other")).toBe(
          "No controller here reconciles ConfigMap default/other. This process knows no answer of its webhooks that denied or changed the object, or warned about it.\n"
        )
        expect(JSON.parse(yield* ask("kind=configmap&name=page&output=json"))).toMatchObject({
          answers: [],
          admitted: { kind: "ConfigMap", namespace: "default", name: "page", webhooks: [{ result: "denied" }] }
        })
        expect(yield* ask("kind=dog&name=page")).toStartWith('no controller here reconciles a kind "dog"')
      })
    )
  )

  effect(
    "is shown for a child, with the explanation of its owner",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(Widget, widget("a"))
        server.put(ConfigMap, child("page", "example.com/v1alpha1", "Widget", "a"))
        const owner = Controller.make("widgets", { for: Widget, owns: [ConfigMap], reconcile })
        const { ask } = yield* asked(owner, undefined, denied(ConfigMap))
        const text = yield* ask("kind=configmap&name=page")
        expect(text).toStartWith("ConfigMap default/page is a child of Widget a (controller widgets):")
        expect(text).toContain("denied  create by ann  no page\n\nWidget default/a was reconciled")
        expect(yield* ask("kind=configmap&name=gone")).not.toContain("webhooks")
      })
    )
  )

  effect(
    "is part of the explanation of a reconciled object",
    withWorld(({ server }) =>
      Effect.gen(function* () {
        server.put(ConfigMap, { metadata: { name: "page" } })
        const pages = Controller.make("pages", { for: ConfigMap, reconcile })
        const { ask } = yield* asked(pages, undefined, denied(ConfigMap))
        expect(yield* ask("kind=configmap&name=page")).toMatch(
          /^ConfigMap default\/page was reconciled .*\nWebhook +just now \(00:00:00Z\) {2}denied {2}create by ann {2}no page\n/s
        )
      })
    )
  )
})

describe("A short name", () => {
  const owns = [Deployment, ReplicaSet, ConfigMap, Service]
  const kinds: { readonly [path: string]: ReadonlyArray<object> } = {
    "/apis/apps/v1": [
      { name: "deployments", shortNames: ["deploy"] },
      { name: "replicasets", shortNames: ["rs"] }
    ],
    "/api/v1": [
      { name: "configmaps", shortNames: ["cm"] },
      { name: "services", shortNames: ["svc"] }
    ]
  }
  const resourceList = (path: string) => JSON.stringify({ resources: kinds[path] })
  const answer = /^ReplicaSet default\/a not found\./

  effect(
    "is looked up once for each group and version, and not at all for a known name",
    withWorld(() =>
      Effect.gen(function* () {
        const { ask, paths } = yield* asked(Controller.make("spaces", { for: Namespace, owns, reconcile }), (path) =>
          Effect.succeed(resourceList(path))
        )
        yield* ask("kind=replicasets&name=a")
        yield* ask("kind=namespace&name=a")
        expect(paths).toEqual([])
        expect(yield* ask("kind=rs&name=a")).toMatch(answer)
        expect(paths.toSorted()).toEqual(["/api/v1", "/apis/apps/v1"])
      })
    )
  )

  effect(
    "is looked up in parallel, with a timeout for each lookup",
    withWorld(() =>
      Effect.gen(function* () {
        const { ask, paths } = yield* asked(
          Controller.make("widgets", { for: Widget, owns: owns.toReversed(), reconcile }),
          (path) => (path === "/api/v1" ? Effect.never : Effect.succeed(resourceList(path)))
        )
        const found = yield* Effect.forkChild(ask("kind=rs&name=a"))
        yield* settle
        expect(paths).toHaveLength(2)
        yield* TestClock.adjust("2 seconds")
        expect(yield* Fiber.join(found)).toMatch(answer)
        const lost = yield* Effect.forkChild(ask("kind=cm&name=a"))
        yield* TestClock.adjust("2 seconds")
        expect(yield* Fiber.join(lost)).toBe(
          'no controller here reconciles a kind "cm", but Widget (widgets.example.com)\n'
        )
      })
    )
  )
})

effect(
  "The explanation omits what the API server does not answer within 4 s",
  withWorld(({ server }) =>
    Effect.gen(function* () {
      server.put(Widget, widget("a"))
      const { ask } = yield* asked(Controller.make("widgets", { for: Widget, reconcile }))
      // The read falls back to a list, which takes time too.
      const slow = server.faults.on({ verb: "get", kind: Widget, name: "a" }, Faults.unanswered)
      server.faults.on({ verb: "get", kind: Widget, name: "a" }, Faults.answer(403))
      server.faults.on({ verb: "list", kind: Widget }, Faults.held)
      const answer = yield* Effect.forkChild(ask("kind=widget&name=a"))
      yield* TestClock.adjust("2900 millis")
      slow.remove()
      yield* TestClock.adjust("1100 millis")
      expect(answer.pollUnsafe()).toBeDefined()
      expect(yield* Fiber.join(answer)).toContain("Widget default/a was reconciled")
    })
  )
)

effect(
  "A change counts as an own write only for the same group",
  withWorld(({ server }) =>
    Effect.gen(function* () {
      server.put(Widget, widget("a"))
      const key = { namespace: "default", name: "a" }
      const controller = Controller.make("widgets", {
        for: Widget,
        reconcile: () => Effect.as(Client.patch(Widget, key, Patch.merge({ spec: { size: 2 } })), Result.done)
      })
      const { runner } = yield* asked(controller)
      const { metadata } = yield* Client.get(Widget, key)
      const { isOwn } = yield* Gather.gather(
        { controller, runner, admissions: undefined, election: undefined, since: 0 },
        key
      )
      const source = { kind: "Widget", key: "default/a", resourceVersion: metadata.resourceVersion }
      expect(isOwn({ ...source, uid: metadata.uid })).toBe(true)
      expect(isOwn({ ...source, uid: "of-another-group" })).toBe(false)
    })
  )
)
