/** With the rights that the WebApp controller says it needs it works, and of one that it lacks it tells which. */
import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import {
  Deployment,
  Event,
  HorizontalPodAutoscaler,
  Role,
  RoleBinding,
  Service
} from "@homeostat/runtime/resource/BuiltIn"
import * as Crd from "@homeostat/runtime/resource/Crd"
import type { ControlPlane } from "@homeostat/testkit/envtest/ControlPlane"
import * as Envtest from "@homeostat/testkit/envtest/Envtest"
import * as Shared from "@homeostat/testkit/envtest/Shared"
import { adoptAnnotation, controller } from "@homeostat/webapp"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect, type Scope } from "effect"
import * as Managed from "../Managed.ts"
import * as Counted from "./Counted.ts"

interface Rule {
  readonly apiGroups: Array<string>
  readonly resources: Array<string>
  readonly verbs: Array<string>
}

const rule = (group: string, resources: string, verbs: string): Rule => ({
  apiGroups: [group],
  resources: resources.split(" "),
  verbs: verbs.split(" ")
})

/** What the head of `controllers/webapp/controller.ts` says. */
const rights: ReadonlyArray<Rule> = [
  rule("apps.kubedojo.io", "webapps", "get list watch patch"),
  rule("apps.kubedojo.io", "webapps/status", "patch"),
  rule("apps", "deployments", "get list watch patch create"),
  rule("", "services", "get list watch patch create"),
  rule("", "pods", "list watch"),
  rule("autoscaling", "horizontalpodautoscalers", "list watch"),
  rule("events.k8s.io", "events", "create patch")
]

/** A namespace with WebApps in it, and somebody who has these rights there and no other. */
const test = <A, E>(
  name: string,
  body: (place: {
    readonly cluster: ControlPlane
    readonly namespace: string
    readonly manager: (
      rights: ReadonlyArray<Rule>
    ) => Effect.Effect<Counted.Counted, unknown, Scope.Scope | Client.Client>
    readonly grant: (rights: ReadonlyArray<Rule>) => Effect.Effect<unknown, unknown, Client.Client>
  }) => Effect.Effect<A, E, Scope.Scope | Client.Client>
): void =>
  Shared.real(
    name,
    (cluster) =>
      Effect.gen(function* () {
        yield* cluster.install(Crd.of(WebApp))
        const namespace = yield* cluster.namespace("rights")
        const user = yield* cluster.addUser({ name: `manager-${crypto.randomUUID().slice(0, 8)}` })
        const metadata = { namespace, name: "manager" }
        const grant = (rights: ReadonlyArray<Rule>) =>
          Client.apply(Role, { metadata, rules: [...rights] }, { force: true, fieldManager: "test" })
        const manager = (rights: ReadonlyArray<Rule>) =>
          grant(rights).pipe(
            Effect.zipRight(
              Client.create(RoleBinding, {
                metadata,
                subjects: [{ kind: "User", name: user.user, apiGroup: "rbac.authorization.k8s.io" }],
                roleRef: { kind: "Role", name: "manager", apiGroup: "rbac.authorization.k8s.io" }
              })
            ),
            Effect.zipRight(Counted.start(user, [controller], { namespaces: [namespace] }))
          )
        const client = yield* Managed.client(cluster)
        return yield* Effect.provide(body({ cluster, namespace, manager, grant }), client)
      }),
    { ...Envtest.everything, timeoutMillis: 60_000 }
  )

const create = (namespace: string, name: string, finalizers: ReadonlyArray<string> = []) =>
  Client.create(WebApp, {
    metadata: { namespace, name, finalizers },
    spec: { image: "registry.test/web:1", replicas: 1 }
  })

const runs = (namespace: string, name: string) =>
  Managed.eventually(
    `that WebApp ${name} runs`,
    Client.get(WebApp, { namespace, name }),
    ({ metadata, status }) => status?.phase === "Running" && status.observedGeneration === metadata.generation
  )

describe("The WebApp controller", () => {
  test("does all of its work with the rights that it says it needs", ({ manager, namespace }) =>
    Effect.gen(function* () {
      const taken = { namespace, name: "adopted" }
      yield* Client.create(Service, { metadata: taken, spec: { ports: [{ port: 1 }] } })
      const working = yield* manager(rights)
      yield* Counted.started(working)

      // Made, changed, drifted, rid of what a stranger added, scaled by another.
      yield* create(namespace, "shop")
      yield* runs(namespace, "shop")
      const key = { namespace, name: "shop" }
      yield* Client.patch(WebApp, key, Patch.merge({ spec: { port: 9090 } }))
      yield* Managed.eventually(
        "the new port",
        Client.get(Service, key),
        ({ spec }) => spec?.ports?.map(({ port }) => port).join() === "9090"
      )
      yield* Client.patch(Service, key, Patch.merge({ spec: { selector: { stranger: "yes" } } }))
      yield* Managed.eventually(
        "that the stranger is out",
        Client.get(Service, key),
        ({ spec }) => spec?.selector?.stranger === undefined
      )
      yield* Client.create(HorizontalPodAutoscaler, {
        metadata: key,
        spec: { scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "shop" }, maxReplicas: 5 }
      })
      yield* Client.patch(Deployment, key, Patch.merge({ spec: { replicas: 3 } }))
      yield* Managed.eventually(
        "the autoscaler's replicas",
        Client.get(WebApp, key),
        ({ status }) => status?.availableReplicas === 3
      )

      // A place that is taken, and given away.
      yield* create(namespace, "adopted")
      yield* Managed.eventually(
        "that the WebApp is stalled",
        Client.get(WebApp, taken),
        ({ status }) => status?.phase === "Failed"
      )
      yield* Client.patch(Service, taken, Patch.merge({ metadata: { annotations: { [adoptAnnotation]: "true" } } }))
      yield* runs(namespace, "adopted")

      // Events, and an entry of an older controller that is to be taken off.
      const told = yield* Managed.eventually(
        "the Events",
        Effect.map(Client.list(Event, { namespace }), ({ items }) => items.map(({ reason }) => reason)),
        (reasons) => ["DeploymentCreated", "ServiceUpdated", "NameConflict"].every((reason) => reasons.includes(reason))
      )
      expect(told).toContain("ServiceCreated")
      yield* create(namespace, "old", ["apps.kubedojo.io/finalizer"])
      yield* runs(namespace, "old")
      yield* Client.delete(WebApp, { namespace, name: "old" })
      yield* Managed.eventually(
        "that the old one is gone",
        Effect.map(Client.list(WebApp, { namespace }), ({ items }) => items.map(({ metadata }) => metadata.name)),
        (names) => !names.includes("old")
      )

      expect(working.warnings.filter((line) => /forbidden|cannot (list|watch)/i.test(line))).toEqual([])
      const failed = working.attempts.filter(({ outcome }) => outcome._tag === "Failed")
      expect(
        failed
          .map(({ outcome }) => String(outcome._tag === "Failed" && outcome.error))
          .filter((text) => /forbidden/i.test(text))
      ).toEqual([])
    }))

  test("that lacks one names it within seconds, does not start, and starts when it is granted", ({
    grant,
    manager,
    namespace
  }) =>
    Effect.gen(function* () {
      yield* create(namespace, "shop")
      const working = yield* manager(rights.filter(({ resources }) => !resources.includes("services")))
      const lacking = `cannot watch services in namespace ${namespace}: it takes the verbs list and watch on services of API group ""`
      yield* Managed.eventually(
        "that the right is named in the log",
        Effect.sync(() => working.warnings),
        (lines) => lines.some((line) => line.startsWith(lacking)),
        "5 seconds"
      )
      const states = () => working.runners[0]?.informers.map((informer) => informer.state()) ?? []
      // The other kinds' first lists may still be on their way when the refusal is told.
      const waiting = yield* Managed.eventually(
        "that every other kind is synced",
        Effect.sync(() => states().filter(({ status }) => status !== "synced")),
        (unsynced) => unsynced.length === 1
      )
      expect(waiting.map(({ problem }) => problem?.slice(0, lacking.length))).toEqual([lacking])
      expect(working.writes).toEqual([])

      yield* grant(rights)
      yield* runs(namespace, "shop")
      expect(states().map(({ status }) => status)).toEqual(["synced", "synced", "synced", "synced", "synced"])
    }))
})
