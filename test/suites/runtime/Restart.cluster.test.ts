/** What a manager finds when it comes back: what happened without it is made right, and what was right is left alone. */
import { describe, expect } from "bun:test"
import * as Client from "@homeostat/runtime/client/Client"
import * as Patch from "@homeostat/runtime/client/Patch"
import { Deployment, Event, Service } from "@homeostat/runtime/resource/BuiltIn"
import * as Crd from "@homeostat/runtime/resource/Crd"
import { controllerOf, type KubernetesObject } from "@homeostat/runtime/resource/KubernetesObject"
import type * as Resource from "@homeostat/runtime/resource/Resource"
import * as Envtest from "@homeostat/testkit/envtest/Envtest"
import * as Shared from "@homeostat/testkit/Shared"
import { controller } from "@homeostat/webapp"
import { WebApp } from "@homeostat/webapp/WebApp"
import { Effect } from "effect"
import * as Managed from "../Managed.ts"
import * as Rest from "../Rest.ts"
import { isRolledOut } from "../webapp/Scene.ts"
import * as Counted from "./Counted.ts"

const names = Array.from({ length: 20 }, (_, index) => `app-${index}`)

const create = (namespace: string, name: string) =>
  Client.create(WebApp, { metadata: { namespace, name }, spec: { image: "registry.test/web:1", replicas: 1 } })

const isRunning = ({ metadata, status }: WebApp): boolean =>
  status?.phase === "Running" && status.observedGeneration === metadata.generation

/** Waits until that many WebApps are there and run. */
const running = (namespace: string, count: number) =>
  Managed.eventually(
    `${count} running WebApps`,
    Effect.map(Client.list(WebApp, { namespace }), ({ items }) => items.filter(isRunning).length),
    (found) => found === count,
    "60 seconds"
  )

const versionsOf = <A extends KubernetesObject>(
  kind: Resource.Resource<A, never>,
  namespace: string,
  isOurs: (object: A) => boolean = () => true
) =>
  Effect.map(Client.list(kind, { namespace }), ({ items }) =>
    items
      .filter(isOurs)
      .map(({ metadata }) => `${kind.kind} ${metadata.name} ${metadata.resourceVersion}`)
      .sort()
  )

/** Every object that a manager could have written, with its resourceVersion: any write at all shows. */
const snapshot = (namespace: string) =>
  Effect.map(
    Effect.all([
      versionsOf(WebApp, namespace),
      versionsOf(Deployment, namespace),
      versionsOf(Service, namespace),
      // Other controllers write Events about the children at any time.
      versionsOf(Event, namespace, ({ regarding }) => regarding?.kind === WebApp.kind)
    ]),
    (lists) => lists.flat()
  )

describe("A manager that comes back", () => {
  Shared.cluster(
    "leaves alone what is right, and makes right what happened without it",
    (cluster) =>
      Effect.gen(function* () {
        yield* cluster.install(Crd.of(WebApp))
        const namespace = yield* cluster.namespace("restart")
        const settings = { namespaces: [namespace] }
        yield* Effect.scoped(
          Effect.gen(function* () {
            const manager = yield* Managed.start(cluster, [controller], settings)
            yield* Effect.forEach(names, (name) => create(namespace, name), { concurrency: 8 })
            yield* running(namespace, 20)
            yield* Managed.eventually(
              "that the rollouts are over",
              Client.list(Deployment, { namespace }),
              ({ items }) => items.every(isRolledOut)
            )
            yield* Rest.of(manager)
          })
        )

        const before = yield* snapshot(namespace)
        yield* Effect.scoped(
          Effect.gen(function* () {
            const manager = yield* Counted.start(cluster.admin, [controller], settings)
            yield* Managed.eventually(
              "a reconcile of each",
              Effect.sync(() => new Set(manager.attempts.map(({ key }) => key)).size),
              (keys) => keys === names.length
            )
            yield* Rest.of(manager)
            expect(manager.requests).toEqual([])
            expect(manager.writes).toEqual([])
            expect(manager.warnings).toEqual([])
            expect(manager.attempts.map(({ outcome }) => outcome._tag)).toEqual(names.map(() => "Done"))
          })
        )
        expect(yield* snapshot(namespace)).toEqual(before)

        // Nobody is there: one is made, one goes, one is drifted, one loses a child.
        yield* create(namespace, "new")
        yield* Client.delete(WebApp, { namespace, name: "app-0" })
        const drifted = { namespace, name: "app-1" }
        yield* Client.patch(Deployment, drifted, Patch.merge({ spec: { replicas: 0 } }), { fieldManager: "somebody" })
        yield* Client.delete(Service, { namespace, name: "app-2" })
        yield* Managed.eventually(
          "that the children of the deleted one go",
          Effect.map(Client.list(Deployment, { namespace }), ({ items }) => items.length),
          (count) => count === 19
        )

        const manager = yield* Counted.start(cluster.admin, [controller], settings)
        yield* running(namespace, 20)
        const service = yield* Managed.eventually(
          "the lost Service",
          Client.get(Service, { namespace, name: "app-2" }),
          (service) => controllerOf(service)?.name === "app-2"
        )
        expect(service.spec?.ports?.map(({ port }) => port)).toEqual([8080])
        const { spec } = yield* Managed.eventually(
          "the drifted Deployment",
          Client.get(Deployment, drifted),
          ({ spec }) => spec?.replicas === 1
        )
        expect(spec?.replicas).toBe(1)
        // Everything once, and nothing of those that were right.
        const applied = manager.writes.filter((write) => write.startsWith("apply"))
        expect(applied.toSorted()).toEqual([
          "apply Deployment app-1",
          "apply Deployment new",
          "apply Service app-2",
          "apply Service new"
        ])
        expect(manager.writes.filter((write) => /app-(?![12]\b)/.test(write))).toEqual([])
        expect(manager.warnings).toEqual([])
      }).pipe((test) => Effect.flatMap(Managed.client(cluster), (client) => Effect.provide(test, client))),
    { ...Envtest.everything, timeoutMillis: 240_000 }
  )
})
